package io.pgbus.sample;

import org.springframework.boot.SpringApplication;

/**
 * The shop on a database in a container, where there is Docker: what
 * {@code spring-boot:test-run} starts.
 */
public final class TestShopApplication {

	private TestShopApplication() {
	}

	/**
	 * Opens the shop.
	 * @param args the command line
	 */
	public static void main(String[] args) {
		SpringApplication.from(ShopApplication::main).with(TestDatabaseConfiguration.class).run(args);
	}

}
