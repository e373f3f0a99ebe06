package io.pgbus.benchmarks;

import java.util.Map;

/**
 * One of those that are compared in a piece. Runs in a process of its own.
 */
interface Side extends AutoCloseable {

	/**
	 * Does once what is measured, in small, so that code is compiled and caches are warm.
	 * @throws Exception if it fails
	 */
	default void warmUp() throws Exception {
	}

	/**
	 * Does what is measured.
	 * @return the figures
	 * @throws Exception if it fails
	 */
	Map<Metric, Double> round() throws Exception;

	@Override
	default void close() throws Exception {
	}

}
