"""Facts of a Kafka cluster: what each partition still holds, and how long a topic keeps its records. No opinion."""

from streamops.kafka.broker import BrokerFacts, PartitionFacts, TopicFacts, TopicRetention

__all__ = ["BrokerFacts", "PartitionFacts", "TopicFacts", "TopicRetention"]
