package io.pgbus.annotation;

import org.jspecify.annotations.Nullable;

import org.springframework.core.annotation.MergedAnnotation;

/**
 * An annotation that makes a listener.
 *
 * @param common what all listeners have
 * @param tables the annotation if it is one for tables, or {@code null}
 */
record DeclaredListener(PgEventListener common, @Nullable PgTableListener tables) {

	/** A listener of tables, or a composed annotation, has the common one above it. */
	static DeclaredListener of(MergedAnnotation<PgEventListener> annotation) {
		MergedAnnotation<?> source = annotation;
		while (source != null && source.getType() != PgTableListener.class) {
			source = source.getMetaSource();
		}
		return new DeclaredListener(annotation.synthesize(),
				(source != null) ? (PgTableListener) source.synthesize() : null);
	}

}
