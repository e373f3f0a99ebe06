package io.pgbus.benchmarks;

/**
 * One figure of one round.
 *
 * @param piece the piece's id
 * @param side who was measured
 * @param round the round, from 1
 * @param metric what was measured
 * @param value the figure
 */
record Measurement(String piece, String side, int round, Metric metric, double value) {

}
