package io.pgbus.actuate;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.function.Supplier;

import org.jspecify.annotations.Nullable;

/**
 * A question to a database, which may not answer: a pool without connections, or a server
 * that is silent, must not hang the caller. While an answer is due it is not asked again.
 *
 * @param <T> the type of the answer
 */
final class Inquiry<T> {

	private final Supplier<T> question;

	private final Executor executor;

	private @Nullable CompletableFuture<T> answer;

	Inquiry(Supplier<T> question, Executor executor) {
		this.question = question;
		this.executor = executor;
	}

	/**
	 * Asks.
	 * @param patience how long to wait for the answer
	 * @throws TimeoutException if it is not there in time
	 * @throws ExecutionException if the question fails
	 */
	T ask(Duration patience) throws InterruptedException, ExecutionException, TimeoutException {
		return pending().get(patience.toMillis(), TimeUnit.MILLISECONDS);
	}

	private synchronized CompletableFuture<T> pending() {
		CompletableFuture<T> current = this.answer;
		if (current == null || current.isDone()) {
			current = CompletableFuture.supplyAsync(this.question, this.executor);
			this.answer = current;
		}
		return current;
	}

}
