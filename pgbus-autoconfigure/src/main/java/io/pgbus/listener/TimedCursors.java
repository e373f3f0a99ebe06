package io.pgbus.listener;

import java.util.Collection;
import java.util.function.Supplier;

import io.pgbus.listener.ListenerMetrics.Result;
import io.pgbus.store.Claim;
import io.pgbus.store.CursorStore;
import io.pgbus.store.Holder;
import org.jspecify.annotations.Nullable;

/**
 * The cursors of a listener, with the time that it takes to claim them and to read.
 */
final class TimedCursors {

	private final CursorStore cursors;

	private final Meter claims;

	private final Meter fetches;

	TimedCursors(CursorStore cursors, String group, ListenerMetrics metrics) {
		this.cursors = cursors;
		this.claims = (result, nanos) -> metrics.claimed(group, result, nanos);
		this.fetches = (result, nanos) -> metrics.fetched(group, result, nanos);
	}

	/** See {@link CursorStore#claim}. */
	@Nullable Claim claim(Holder holder, Collection<Integer> avoided) {
		return timed(this.claims, () -> this.cursors.claim(holder, avoided));
	}

	/** See {@link CursorStore#advance}. */
	@Nullable Claim advance(Claim claim, Holder holder, Progress progress) {
		return timed(this.fetches, () -> this.cursors.advance(claim, holder, progress.position(), progress.handled()));
	}

	/** See {@link CursorStore#release}. */
	boolean release(Claim claim, Progress progress, @Nullable String awaitsType) {
		return this.cursors.release(claim, progress.position(), progress.handled(), awaitsType);
	}

	/** See {@link CursorStore#releaseStrays}. */
	void releaseStrays(Holder holder) {
		this.cursors.releaseStrays(holder);
	}

	private static @Nullable Claim timed(Meter meter, Supplier<@Nullable Claim> read) {
		long start = System.nanoTime();
		Result result = Result.FAILED;
		try {
			Claim claim = read.get();
			result = (claim != null) ? Result.CLAIMED : Result.NOTHING;
			return claim;
		}
		finally {
			meter.record(result, System.nanoTime() - start);
		}
	}

	/** Takes a time. */
	private interface Meter {

		void record(Result result, long nanos);

	}

}
