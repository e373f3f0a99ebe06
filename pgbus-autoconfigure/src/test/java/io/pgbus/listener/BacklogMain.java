package io.pgbus.listener;

import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicLong;

import io.pgbus.DeliveryMode;

import org.springframework.jdbc.core.simple.JdbcClient;

/**
 * An application that does nothing with a great many events, and ends when it has had
 * them all. Started by {@link LargeBacklogIntegrationTests} with little memory.
 */
final class BacklogMain {

	static final String STREAM = "backlog";

	private BacklogMain() {
	}

	public static void main(String[] args) throws InterruptedException {
		Map<String, String> options = InstanceMain.parse(args);
		long expected = Long.parseLong(options.get("expected"));
		AtomicLong bytes = new AtomicLong();
		AtomicLong count = new AtomicLong();
		CountDownLatch all = new CountDownLatch(1);
		InstanceMain.Application application = InstanceMain.application(options);
		application.registry()
			.register(PgListenerEndpoint.id(STREAM)
				.streams(STREAM)
				.concurrency(2)
				.delivery(DeliveryMode.AT_LEAST_ONCE)
				.onEvent(String.class, (event) -> {
					bytes.addAndGet(event.payload().length());
					if (count.incrementAndGet() == expected) {
						all.countDown();
					}
				}));
		application.registry().start();
		all.await();
		application.registry().stop();
		JdbcClient.create(application.pool())
			.sql("insert into consumed values (?, ?)")
			.params(count.get(), bytes.get())
			.update();
		System.exit(0);
	}

}
