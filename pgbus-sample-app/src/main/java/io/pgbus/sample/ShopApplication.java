package io.pgbus.sample;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;

/**
 * A small shop. {@link OrderService} publishes an event for every order;
 * {@link BillingListener}, {@link ShippingListener} and {@link AuditListener} each get
 * all of them.
 */
@SpringBootApplication
public class ShopApplication {

	/**
	 * Opens the shop.
	 * @param args the command line
	 */
	public static void main(String[] args) {
		SpringApplication.run(ShopApplication.class, args);
	}

}
