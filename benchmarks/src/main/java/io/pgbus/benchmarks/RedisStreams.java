package io.pgbus.benchmarks;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.function.Consumer;

import tools.jackson.databind.json.JsonMapper;

import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.connection.stream.MapRecord;
import org.springframework.data.redis.connection.stream.ReadOffset;
import org.springframework.data.redis.connection.stream.StreamOffset;
import org.springframework.data.redis.connection.stream.StreamRecords;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.stream.StreamMessageListenerContainer;

/**
 * Spring Data Redis: a stream, a consumer group, and a listener container that
 * acknowledges each event after it was handled.
 */
final class RedisStreams implements Technology {

	private final LettuceConnectionFactory connections;

	private final StringRedisTemplate redis;

	private final JsonMapper mapper = new JsonMapper();

	private final String stream = "orders-" + UUID.randomUUID();

	private long filled;

	RedisStreams(Environment environment) {
		this.connections = new LettuceConnectionFactory("127.0.0.1", environment.redisPort());
		this.connections.afterPropertiesSet();
		this.connections.start();
		this.redis = new StringRedisTemplate(this.connections);
	}

	@Override
	public void publish(Order order, Runnable beforeCommit) {
		MapRecord<String, String, String> entry = entry(order);
		beforeCommit.run();
		this.redis.opsForStream().add(entry);
	}

	@Override
	public void publishAll(List<Order> orders) {
		this.redis.executePipelined((org.springframework.data.redis.connection.RedisConnection connection) -> {
			orders.forEach((order) -> connection.streamCommands()
				.xAdd(StreamRecords.rawBytes(Map.of("payload".getBytes(), this.mapper.writeValueAsBytes(order)))
					.withStreamKey(this.stream.getBytes())));
			return null;
		});
	}

	private MapRecord<String, String, String> entry(Order order) {
		return StreamRecords.newRecord()
			.in(this.stream)
			.ofMap(Map.of("payload", this.mapper.writeValueAsString(order)));
	}

	@Override
	public void fill(int count) {
		if (this.filled == 0) {
			for (int from = 1; from <= count; from += 1000) {
				publishAll(Order.range(from, Math.min(1000, count - from + 1)));
			}
			this.filled = count;
		}
	}

	@Override
	public AutoCloseable consume(Consumption how, Consumer<Order> handler) {
		String group = "group-" + UUID.randomUUID();
		this.redis.opsForStream()
			.createGroup(this.stream, how.backlog() ? ReadOffset.from("0") : ReadOffset.latest(), group);
		ExecutorService workers = Executors.newCachedThreadPool();
		var container = StreamMessageListenerContainer.create(this.connections,
				StreamMessageListenerContainer.StreamMessageListenerContainerOptions.builder()
					.batchSize(100)
					.pollTimeout(Duration.ofSeconds(1))
					.executor(workers)
					.build());
		for (int worker = 0; worker < how.workers(); worker++) {
			container.receive(
					org.springframework.data.redis.connection.stream.Consumer.from(group, "consumer-" + worker),
					StreamOffset.create(this.stream, ReadOffset.lastConsumed()), (entry) -> {
						handler.accept(this.mapper.readValue(entry.getValue().get("payload"), Order.class));
						this.redis.opsForStream().acknowledge(group, entry);
					});
		}
		container.start();
		return () -> {
			container.stop();
			workers.shutdownNow();
		};
	}

	@Override
	public void close() {
		this.redis.delete(this.stream);
		this.connections.destroy();
	}

}
