package io.pgbus.store;

/**
 * A place in the stream of changes: transactions come in the order of their commits.
 *
 * @param commit the LSN of the transaction's commit record, unsigned
 * @param ordinal the number of the change in its transaction, from 1; 0 is before the
 * first, {@link #WHOLE} behind the last
 * @since 0.1.0
 */
public record CapturePosition(long commit, long ordinal) implements Comparable<CapturePosition> {

	/** The ordinal behind the last change of a transaction. */
	public static final long WHOLE = Long.MAX_VALUE;

	@Override
	public int compareTo(CapturePosition other) {
		int order = Long.compareUnsigned(this.commit, other.commit);
		return (order != 0) ? order : Long.compare(this.ordinal, other.ordinal);
	}

}
