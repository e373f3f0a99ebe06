package io.pgbus.benchmarks;

import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.function.Consumer;

import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;
import tools.jackson.databind.json.JsonMapper;

import org.springframework.kafka.core.DefaultKafkaConsumerFactory;
import org.springframework.kafka.core.DefaultKafkaProducerFactory;
import org.springframework.kafka.core.KafkaTemplate;
import org.springframework.kafka.listener.ConcurrentMessageListenerContainer;
import org.springframework.kafka.listener.ContainerProperties;
import org.springframework.kafka.listener.MessageListener;
import org.springframework.kafka.test.EmbeddedKafkaKraftBroker;

/**
 * Spring for Apache Kafka on one embedded broker, in the process of the side: eight
 * partitions, acknowledged by all, every message on disk before that.
 */
final class Kafka implements Technology {

	private final EmbeddedKafkaKraftBroker broker;

	private final DefaultKafkaProducerFactory<String, String> producers;

	private final KafkaTemplate<String, String> kafka;

	private final JsonMapper mapper = new JsonMapper();

	private boolean filled;

	Kafka() {
		this.broker = new EmbeddedKafkaKraftBroker(1, 8, Order.STREAM);
		this.broker.brokerProperty("log.flush.interval.messages", "1");
		this.broker.afterPropertiesSet();
		this.producers = new DefaultKafkaProducerFactory<>(
				Map.of(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, this.broker.getBrokersAsString(),
						ProducerConfig.ACKS_CONFIG, "all", ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG,
						StringSerializer.class, ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, StringSerializer.class));
		this.kafka = new KafkaTemplate<>(this.producers);
	}

	@Override
	public void publish(Order order, Runnable beforeCommit) {
		String payload = this.mapper.writeValueAsString(order);
		beforeCommit.run();
		this.kafka.send(Order.STREAM, order.customer(), payload).join();
	}

	@Override
	public void publishAll(List<Order> orders) {
		CompletableFuture<?>[] sent = orders.stream()
			.map((order) -> this.kafka.send(Order.STREAM, order.customer(), this.mapper.writeValueAsString(order)))
			.toArray(CompletableFuture[]::new);
		CompletableFuture.allOf(sent).join();
	}

	@Override
	public void fill(int count) {
		if (!this.filled) {
			for (int from = 1; from <= count; from += 1000) {
				publishAll(Order.range(from, Math.min(1000, count - from + 1)));
			}
			this.filled = true;
		}
	}

	@Override
	public AutoCloseable consume(Consumption how, Consumer<Order> handler) throws InterruptedException {
		ContainerProperties properties = new ContainerProperties(Order.STREAM);
		properties.setGroupId("group-" + UUID.randomUUID());
		properties.setMessageListener((MessageListener<String, String>) (message) -> handler
			.accept(this.mapper.readValue(message.value(), Order.class)));
		var consumers = new DefaultKafkaConsumerFactory<String, String>(Map.of(ConsumerConfig.BOOTSTRAP_SERVERS_CONFIG,
				this.broker.getBrokersAsString(), ConsumerConfig.AUTO_OFFSET_RESET_CONFIG,
				how.backlog() ? "earliest" : "latest", ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG,
				StringDeserializer.class, ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG, StringDeserializer.class));
		var container = new ConcurrentMessageListenerContainer<>(consumers, properties);
		container.setConcurrency(how.workers());
		container.start();
		if (!how.backlog()) {
			// a new group begins at the end only once its partitions are assigned
			long assigned = 0;
			while (assigned < 8) {
				Thread.sleep(100);
				assigned = container.getAssignedPartitions().size();
			}
			Thread.sleep(1000);
		}
		return container::stop;
	}

	@Override
	public void close() {
		this.producers.destroy();
		this.broker.destroy();
	}

}
