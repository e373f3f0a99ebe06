package io.pgbus.sample;

import org.springframework.http.HttpStatus;
import org.springframework.jdbc.core.simple.JdbcClient;
import org.springframework.web.bind.annotation.DeleteMapping;
import org.springframework.web.bind.annotation.PathVariable;
import org.springframework.web.bind.annotation.PutMapping;
import org.springframework.web.bind.annotation.RequestMapping;
import org.springframework.web.bind.annotation.ResponseStatus;
import org.springframework.web.bind.annotation.RestController;

/**
 * The shop's workshop. Orders of a broken item cannot be shipped. When an item is
 * repaired, the dead events of its orders can be retried with success.
 */
@RestController
@RequestMapping("/broken-items")
class BrokenItemController {

	private final JdbcClient jdbc;

	BrokenItemController(JdbcClient jdbc) {
		this.jdbc = jdbc;
	}

	@PutMapping("/{item}")
	@ResponseStatus(HttpStatus.NO_CONTENT)
	void breakItem(@PathVariable String item) {
		this.jdbc.sql("insert into broken_item (item) values (?) on conflict do nothing").param(item).update();
	}

	@DeleteMapping("/{item}")
	@ResponseStatus(HttpStatus.NO_CONTENT)
	void repair(@PathVariable String item) {
		this.jdbc.sql("delete from broken_item where item = ?").param(item).update();
	}

}
