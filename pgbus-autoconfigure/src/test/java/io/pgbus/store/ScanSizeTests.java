package io.pgbus.store;

import java.time.Instant;
import java.util.List;
import java.util.stream.LongStream;

import org.junit.jupiter.api.Test;

import static org.assertj.core.api.Assertions.assertThat;

class ScanSizeTests {

	@Test
	void aListenerThatWantsAllNeverLooksAtMoreThanItTakes() {
		ScanSize scan = new ScanSize(new Subscription(1, List.of(1), null, null, 100, 1000));
		scan.learnFrom(claim(3, 50));
		assertThat(scan.events()).isEqualTo(100);
	}

	@Test
	void aListenerThatWantsFewLooksAtMoreAndMore() {
		ScanSize scan = new ScanSize(new Subscription(1, List.of(1), null, "true", 100, 1000));
		assertThat(scan.events()).isEqualTo(100);
		scan.learnFrom(claim(3, 50));
		assertThat(scan.events()).isEqualTo(200);
		for (int i = 0; i < 5; i++) {
			scan.learnFrom(claim(0, 50));
		}
		assertThat(scan.events()).isEqualTo(1000);
	}

	@Test
	void oneThatFindsAFullBatchLooksAtFewer() {
		ScanSize scan = new ScanSize(new Subscription(1, List.of(1), null, "true", 100, 1000));
		for (int i = 0; i < 5; i++) {
			scan.learnFrom(claim(0, 50));
		}
		scan.learnFrom(claim(100, 50));
		assertThat(scan.events()).isEqualTo(500);
		for (int i = 0; i < 5; i++) {
			scan.learnFrom(claim(100, 50));
		}
		assertThat(scan.events()).isEqualTo(100);
	}

	@Test
	void theEndOfAWindowTeachesNothing() {
		ScanSize scan = new ScanSize(new Subscription(1, List.of(1), null, "true", 100, 1000));
		scan.learnFrom(claim(3, 100));
		assertThat(scan.events()).isEqualTo(100);
	}

	/** With so many events, up to an id of a window that goes to 100. */
	private static Claim claim(int events, long readingTo) {
		List<StoredEvent> stored = LongStream.range(0, events)
			.mapToObj((id) -> new StoredEvent(id, "t", null, "1", null, Instant.EPOCH, false))
			.toList();
		return new Claim(1, 1, "s", 1, 0, 0, readingTo, 100, 0, "", true, false, null, stored, List.of());
	}

}
