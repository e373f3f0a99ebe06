package io.pgbus.sample;

import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;

import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.autoconfigure.condition.ConditionalOnBooleanProperty;
import org.springframework.scheduling.annotation.EnableScheduling;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/**
 * Places random orders, if it is switched on.
 */
@Component
@EnableScheduling
@ConditionalOnBooleanProperty("shop.generator.enabled")
class OrderGenerator {

	private static final List<String> CUSTOMERS = List.of("ada", "barbara", "edsger", "grace");

	private static final List<String> ITEMS = List.of("bed", "bench", "chair", "desk", "lamp", "mirror", "shelf",
			"sofa", "table", "vase", "broken-lamp");

	private final OrderService orders;

	private final int rate;

	OrderGenerator(OrderService orders, @Value("${shop.generator.rate}") int rate) {
		this.orders = orders;
		this.rate = rate;
	}

	@Scheduled(fixedRate = 1, timeUnit = TimeUnit.SECONDS)
	void placeOrders() {
		for (int i = 0; i < this.rate; i++) {
			this.orders.place(randomOrder());
		}
	}

	private static NewOrder randomOrder() {
		ThreadLocalRandom random = ThreadLocalRandom.current();
		return new NewOrder(CUSTOMERS.get(random.nextInt(CUSTOMERS.size())), ITEMS.get(random.nextInt(ITEMS.size())),
				random.nextInt(1, 10), random.nextInt(100, 10_000));
	}

}
