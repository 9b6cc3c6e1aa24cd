# A Spark master or worker out of the same lock and jars as everything else, so that versions cannot differ.
# Build from the repository's root: docker build -f docker/spark.Dockerfile .

FROM maven:3.9-eclipse-temurin-17 AS jars
COPY config/pom.xml /build/pom.xml
RUN mvn --quiet --batch-mode --file /build/pom.xml -Pspark dependency:copy-dependencies -DoutputDirectory=/jars/spark

FROM python:3.11-slim-bookworm
RUN apt-get update \
    && apt-get install -y --no-install-recommends openjdk-17-jre-headless procps \
    && rm -rf /var/lib/apt/lists/* \
    && useradd --create-home --uid 50000 --gid 0 spark \
    && install -d -o spark -g 0 /var/lib/streamops
COPY requirements.lock /tmp/requirements.lock
RUN pip install --no-cache-dir --no-deps --require-hashes -r /tmp/requirements.lock
ENV SPARK_HOME=/usr/local/lib/python3.11/site-packages/pyspark
COPY --from=jars /jars/spark /opt/streamops/.jars/spark
USER spark
