package io.pgbus.store;

import io.pgbus.ListenedTable;

/**
 * A table and what a group wants of it.
 *
 * @param table the table
 * @param wanted what the group wants, as the application says it
 * @since 0.1.0
 */
public record TableInterest(PublishedTable table, ListenedTable wanted) {

}
