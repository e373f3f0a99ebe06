package io.pgbus.store;

/**
 * How many events a read looks at, where it may pass over some. Each costs types, filter
 * and what is known of it, whether it gets into the batch or not: a listener that wants
 * all should look at as many as it takes, one that wants few at many. So a read that came
 * up short makes the next look at more, and one that was full at fewer. The workers of a
 * listener share this, and may overlook what one of them learns.
 */
final class ScanSize {

	private static final int MOST = 1000;

	private final int batchSize;

	private final int most;

	private volatile int events;

	ScanSize(Subscription subscription) {
		boolean takesAll = subscription.types() == null && subscription.filter() == null;
		this.batchSize = subscription.batchSize();
		this.most = takesAll ? this.batchSize : Math.max(this.batchSize, MOST);
		this.events = this.batchSize;
	}

	int events() {
		return this.events;
	}

	void learnFrom(Claim claim) {
		if (claim.events().size() + claim.done().size() >= this.batchSize) {
			this.events = Math.max(this.batchSize, this.events / 2);
		}
		else if (claim.hasMore()) {
			this.events = Math.min(this.most, this.events * 2);
		}
	}

}
