/**
 * The words an application uses: events, publishing, and the policies listeners follow.
 */
@NullMarked
package io.pgbus;

import org.jspecify.annotations.NullMarked;
