package io.pgbus.annotation;

import java.util.List;
import java.util.concurrent.CompletionStage;
import java.util.stream.Stream;

import io.pgbus.Event;
import io.pgbus.ListenedTable;
import io.pgbus.listener.EventHandler;
import io.pgbus.store.PublishedTable;
import org.jspecify.annotations.Nullable;

/**
 * Hands each change of a table to the method for it.
 *
 * @param listener names the class in messages
 * @param routes the methods of tables
 * @param defaultMethod the method for all other tables, or {@code null}
 */
record TableRouter(String listener, List<Route> routes,
		@Nullable ListenerMethod defaultMethod) implements EventHandler {

	boolean asynchronous() {
		return Stream.concat(this.routes.stream().map(Route::method), Stream.ofNullable(this.defaultMethod))
			.anyMatch(ListenerMethod::asynchronous);
	}

	@Override
	public @Nullable CompletionStage<?> handle(List<Event<Object>> events) throws Exception {
		String table = PublishedTable.qualifiedNameOf(events.get(0).stream());
		ListenerMethod method = this.routes.stream()
			.filter((route) -> route.table().matches(table))
			.map(Route::method)
			.findFirst()
			.orElse(this.defaultMethod);
		if (method == null) {
			throw new IllegalStateException(this.listener + " has no method for changes of the table " + table + ".");
		}
		return method.handle(events);
	}

	/**
	 * Which method is for a table.
	 *
	 * @param table the table
	 * @param method the method
	 */
	record Route(ListenedTable table, ListenerMethod method) {

	}

}
