package io.pgbus.annotation;

import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedElement;
import java.lang.reflect.Method;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

import org.jspecify.annotations.Nullable;

import org.springframework.core.MethodIntrospector;
import org.springframework.core.annotation.AnnotationUtils;
import org.springframework.core.annotation.MergedAnnotation;
import org.springframework.core.annotation.MergedAnnotations;
import org.springframework.core.annotation.MergedAnnotations.SearchStrategy;
import org.springframework.core.annotation.RepeatableContainers;

/**
 * Finds the annotations of a class, its superclasses and its interfaces.
 */
final class ListenerScanner {

	private static final List<Class<? extends Annotation>> ANNOTATIONS = List.of(PgEventListener.class,
			PgEventHandler.class);

	/** Almost all classes, and a prototype is looked at each time it is made. */
	private final Set<Class<?>> withoutAnnotations = ConcurrentHashMap.newKeySet();

	@Nullable ListenerClass scan(Class<?> type) {
		if (this.withoutAnnotations.contains(type) || !AnnotationUtils.isCandidateClass(type, ANNOTATIONS)) {
			return null;
		}
		ListenerClass found = new ListenerClass(type, findListeners(type), selectListeners(type), selectHandlers(type));
		if (found.isEmpty()) {
			this.withoutAnnotations.add(type);
			return null;
		}
		return found;
	}

	private static Map<Method, PgEventHandler> selectHandlers(Class<?> type) {
		return MethodIntrospector.selectMethods(type, (MethodIntrospector.MetadataLookup<PgEventHandler>) (method) -> {
			List<MergedAnnotation<PgEventHandler>> found = find(method, PgEventHandler.class);
			return found.isEmpty() ? null : found.get(0).synthesize();
		});
	}

	private static Map<Method, List<DeclaredListener>> selectListeners(Class<?> type) {
		return MethodIntrospector.selectMethods(type,
				(MethodIntrospector.MetadataLookup<List<DeclaredListener>>) (method) -> {
					List<DeclaredListener> found = findListeners(method);
					return found.isEmpty() ? null : found;
				});
	}

	private static List<DeclaredListener> findListeners(AnnotatedElement element) {
		return find(element, PgEventListener.class).stream().map(DeclaredListener::of).toList();
	}

	/** Only the nearest: an overriding method replaces what it overrides. */
	private static <A extends Annotation> List<MergedAnnotation<A>> find(AnnotatedElement element,
			Class<A> annotation) {
		List<MergedAnnotation<A>> found = MergedAnnotations
			.from(element, SearchStrategy.TYPE_HIERARCHY, RepeatableContainers.standardRepeatables())
			.stream(annotation)
			.toList();
		int nearest = found.stream().mapToInt(MergedAnnotation::getAggregateIndex).min().orElse(0);
		return found.stream().filter((each) -> each.getAggregateIndex() == nearest).toList();
	}

}
