package io.pgbus.annotation;

import java.lang.annotation.Annotation;
import java.lang.reflect.AnnotatedParameterizedType;
import java.lang.reflect.AnnotatedType;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;

import io.pgbus.Event;
import io.pgbus.PgBusException;
import io.pgbus.UnreadableEventException;
import org.jspecify.annotations.Nullable;

import org.springframework.beans.factory.ObjectProvider;
import org.springframework.core.MethodParameter;
import org.springframework.messaging.handler.annotation.support.MethodArgumentNotValidException;
import org.springframework.messaging.support.MessageBuilder;
import org.springframework.validation.BeanPropertyBindingResult;
import org.springframework.validation.BindingResult;
import org.springframework.validation.FieldError;
import org.springframework.validation.ObjectError;
import org.springframework.validation.SmartValidator;
import org.springframework.validation.Validator;
import org.springframework.validation.annotation.ValidationAnnotationUtils;

/**
 * Validates payloads of a parameter.
 *
 * @param parameter the parameter
 * @param validator the application's validator
 * @param groups the validation groups
 */
record PayloadValidation(MethodParameter parameter, Validator validator, List<Object> groups) {

	/**
	 * Looks for an annotation that asks for validation, and only then for the validator.
	 * @return {@code null} if the parameter is not validated
	 */
	static @Nullable PayloadValidation of(MethodParameter parameter, ObjectProvider<Validator> validators,
			String listener) {
		for (Annotation annotation : annotations(parameter)) {
			Object[] groups = ValidationAnnotationUtils.determineValidationHints(annotation);
			if (groups != null) {
				Validator validator = validators.getIfUnique();
				if (validator == null) {
					throw new PgBusException(
							listener + " has a parameter with @" + annotation.annotationType().getSimpleName()
									+ ", but there is no Validator bean, or several. Add a Bean Validation provider "
									+ "(spring-boot-starter-validation), or mark one Validator as @Primary.");
				}
				return new PayloadValidation(parameter, validator, List.of(groups));
			}
		}
		return null;
	}

	/** Those of the parameter, and those in {@code List<@Valid T>} and the like. */
	private static List<Annotation> annotations(MethodParameter parameter) {
		List<Annotation> annotations = new ArrayList<>(List.of(parameter.getParameterAnnotations()));
		AnnotatedType type = parameter.getParameter().getAnnotatedType();
		while (type instanceof AnnotatedParameterizedType container) {
			type = container.getAnnotatedActualTypeArguments()[0];
			annotations.addAll(List.of(type.getAnnotations()));
		}
		return annotations;
	}

	void validate(Event<?> event, Object payload) {
		if (payload instanceof Collection<?> elements) {
			// validators do not look into a collection that is no property of an object
			elements.stream().filter(Objects::nonNull).forEach((element) -> validateObject(event, element));
		}
		else {
			validateObject(event, payload);
		}
	}

	private void validateObject(Event<?> event, Object payload) {
		BindingResult errors = new BeanPropertyBindingResult(payload, "payload");
		if (!this.groups.isEmpty() && this.validator instanceof SmartValidator smart) {
			smart.validate(payload, errors, this.groups.toArray());
		}
		else {
			this.validator.validate(payload, errors);
		}
		if (errors.hasErrors()) {
			throw new UnreadableEventException("The payload of event " + event.id() + " of type \"" + event.type()
					+ "\" in stream \"" + event.stream() + "\" is not valid: "
					+ errors.getAllErrors().stream().map(PayloadValidation::describe).collect(Collectors.joining("; ")),
					new MethodArgumentNotValidException(
							MessageBuilder.createMessage(event.id(), new EventHeaders(event)), this.parameter, errors));
		}
	}

	private static String describe(ObjectError error) {
		return ((error instanceof FieldError field) ? field.getField() + " " : "") + error.getDefaultMessage();
	}

}
