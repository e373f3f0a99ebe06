package io.pgbus.benchmarks;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

import io.debezium.embedded.Connect;
import io.debezium.engine.DebeziumEngine;
import io.debezium.engine.RecordChangeEvent;
import io.debezium.engine.format.ChangeEventFormat;
import org.apache.kafka.connect.data.Struct;
import org.apache.kafka.connect.source.SourceRecord;
import tools.jackson.databind.json.JsonMapper;

/**
 * Debezium's embedded engine with its connector for PostgreSQL: the changes of a table,
 * or its snapshot. Rows are taken as Connect's structures, which is less work than JSON.
 */
final class DebeziumEngineSide extends Tables {

	private static final Pattern URL = Pattern.compile("jdbc:postgresql://([^:/]+):(\\d+)/([^?]+).*");

	private final JsonMapper mapper = new JsonMapper();

	private final boolean snapshot;

	private final Path offsets;

	private boolean filled;

	DebeziumEngineSide(Environment environment, boolean snapshot) throws Exception {
		super(environment);
		this.snapshot = snapshot;
		this.offsets = Files.createTempDirectory("pgbus-benchmarks-debezium-");
		if (!snapshot) {
			// the slot, and an offset
			Order first = Order.of(-1_000_000);
			var read = new java.util.concurrent.CountDownLatch(1);
			try (AutoCloseable engine = consume(Consumption.live(1), (order) -> read.countDown())) {
				environment.awaitSlot();
				publish(first, () -> {
				});
				Progress.await(read, () -> 0, 1);
			}
		}
	}

	@Override
	public void fill(int count) throws Exception {
		if (!this.snapshot || !this.filled) {
			super.fill(count);
			this.filled = true;
		}
	}

	@Override
	public AutoCloseable consume(Consumption how, Consumer<Order> handler) throws IOException {
		DebeziumEngine<RecordChangeEvent<SourceRecord>> engine = DebeziumEngine
			.create(ChangeEventFormat.of(Connect.class))
			.using(properties())
			.notifying((List<RecordChangeEvent<SourceRecord>> changes,
					DebeziumEngine.RecordCommitter<RecordChangeEvent<SourceRecord>> committer) -> {
				for (RecordChangeEvent<SourceRecord> change : changes) {
					if (change.record().value() instanceof Struct value && value.schema().field("after") != null) {
						handler.accept(order(value.getStruct("after")));
					}
					committer.markProcessed(change);
				}
				committer.markBatchFinished();
			})
			.build();
		ExecutorService thread = Executors.newSingleThreadExecutor();
		thread.execute(engine);
		return () -> {
			engine.close();
			thread.shutdown();
			thread.awaitTermination(30, TimeUnit.SECONDS);
		};
	}

	private Order order(Struct row) {
		return new Order(row.getInt64("id"), row.getString("customer"), row.getString("status"), row.getInt64("total"),
				row.getString("note"), List.of(this.mapper.readValue(row.getString("items"), Order.Item[].class)));
	}

	private Properties properties() {
		Matcher url = URL.matcher(this.environment.jdbcUrl());
		if (!url.matches()) {
			throw new IllegalStateException(this.environment.jdbcUrl());
		}
		String name = this.snapshot ? "engine_" + UUID.randomUUID().toString().replace("-", "") : "engine";
		Properties properties = new Properties();
		properties.setProperty("name", name);
		properties.setProperty("connector.class", "io.debezium.connector.postgresql.PostgresConnector");
		properties.setProperty("offset.storage", "org.apache.kafka.connect.storage.FileOffsetBackingStore");
		properties.setProperty("offset.storage.file.filename", this.offsets.resolve(name).toString());
		properties.setProperty("offset.flush.interval.ms", "1000");
		properties.setProperty("database.hostname", url.group(1));
		properties.setProperty("database.port", url.group(2));
		properties.setProperty("database.dbname", url.group(3));
		properties.setProperty("database.user", "postgres");
		properties.setProperty("database.password", "postgres");
		properties.setProperty("topic.prefix", "bench");
		properties.setProperty("table.include.list", "public.orders");
		properties.setProperty("plugin.name", "pgoutput");
		properties.setProperty("publication.autocreate.mode", "filtered");
		properties.setProperty("slot.name", url.group(3));
		properties.setProperty("publication.name", url.group(3));
		properties.setProperty("snapshot.mode", this.snapshot ? "initial_only" : "no_data");
		return properties;
	}

}
