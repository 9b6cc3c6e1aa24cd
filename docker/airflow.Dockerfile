# Airflow, plus what a driver started by it needs: Java 17, the packages of requirements.lock, the jars.
# Build from the repository's root: docker build -f docker/airflow.Dockerfile .

FROM maven:3.9-eclipse-temurin-17 AS jars
COPY config/pom.xml /build/pom.xml
RUN mvn --quiet --batch-mode --file /build/pom.xml -Pspark dependency:copy-dependencies -DoutputDirectory=/jars/spark

FROM apache/airflow:3.3.2-python3.11
USER root
RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless procps \
    && rm -rf /var/lib/apt/lists/*
COPY --from=jars /jars/spark /opt/airflow/.jars/spark
# A named volume takes the owner of the folder that it covers.
RUN install -d -o airflow -g 0 /var/lib/streamops
USER airflow
COPY requirements.lock /tmp/requirements.lock
RUN pip install --no-cache-dir --no-deps --require-hashes -r /tmp/requirements.lock
# No copy of plugins/ in here: compose mounts the folder, and an installed copy would win over it silently.
