package io.pgbus.autoconfigure;

import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;

import io.pgbus.EventType;
import org.jspecify.annotations.Nullable;

import org.springframework.aot.hint.BindingReflectionHintsRegistrar;
import org.springframework.beans.factory.annotation.AnnotatedBeanDefinition;
import org.springframework.beans.factory.aot.BeanFactoryInitializationAotContribution;
import org.springframework.beans.factory.aot.BeanFactoryInitializationAotProcessor;
import org.springframework.beans.factory.config.ConfigurableListableBeanFactory;
import org.springframework.boot.autoconfigure.AutoConfigurationPackages;
import org.springframework.context.annotation.ClassPathScanningCandidateComponentProvider;
import org.springframework.core.type.classreading.MetadataReader;
import org.springframework.core.type.filter.AbstractTypeHierarchyTraversingFilter;
import org.springframework.util.ClassUtils;

/**
 * Lets a native image publish the payloads whose classes have {@link EventType}. They are
 * looked for in the packages of the application.
 */
class EventTypesAotProcessor implements BeanFactoryInitializationAotProcessor {

	@Override
	public @Nullable BeanFactoryInitializationAotContribution processAheadOfTime(
			ConfigurableListableBeanFactory beanFactory) {
		Set<Class<?>> types = AutoConfigurationPackages.has(beanFactory)
				? find(AutoConfigurationPackages.get(beanFactory), beanFactory.getBeanClassLoader()) : Set.of();
		return types.isEmpty() ? null : (context, code) -> new BindingReflectionHintsRegistrar()
			.registerReflectionHints(context.getRuntimeHints().reflection(), types.toArray(new Class<?>[0]));
	}

	private static Set<Class<?>> find(List<String> packages, @Nullable ClassLoader classLoader) {
		ClassPathScanningCandidateComponentProvider scanner = new ClassPathScanningCandidateComponentProvider(false) {

			@Override
			protected boolean isCandidateComponent(AnnotatedBeanDefinition definition) {
				return true;
			}

		};
		scanner.addIncludeFilter(new IsEventType());
		Set<Class<?>> types = new LinkedHashSet<>();
		for (String name : packages) {
			scanner.findCandidateComponents(name)
				.forEach((definition) -> types.add(ClassUtils
					.resolveClassName(Objects.requireNonNull(definition.getBeanClassName()), classLoader)));
		}
		return types;
	}

	/**
	 * As the types are resolved when they are published: also by superclass and
	 * interface.
	 */
	private static final class IsEventType extends AbstractTypeHierarchyTraversingFilter {

		IsEventType() {
			super(true, true);
		}

		@Override
		protected boolean matchSelf(MetadataReader reader) {
			return reader.getAnnotationMetadata().isAnnotated(EventType.class.getName());
		}

	}

}
