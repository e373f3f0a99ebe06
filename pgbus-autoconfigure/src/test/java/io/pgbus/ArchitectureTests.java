package io.pgbus;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.Architectures.layeredArchitecture;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

/**
 * The floors of the house: an arrow may only point down.
 */
@AnalyzeClasses(packages = "io.pgbus", importOptions = DoNotIncludeTests.class)
class ArchitectureTests {

	@ArchTest
	static final ArchRule arrowsPointDown = layeredArchitecture().consideringOnlyDependenciesInLayers()
		.withOptionalLayers(true)
		.layer("words")
		.definedBy("io.pgbus")
		.layer("store")
		.definedBy("io.pgbus.store..")
		.layer("replication")
		.definedBy("io.pgbus.replication..")
		.layer("core")
		.definedBy("io.pgbus.core..")
		.layer("listener")
		.definedBy("io.pgbus.listener..")
		.layer("annotation")
		.definedBy("io.pgbus.annotation..")
		.layer("actuate")
		.definedBy("io.pgbus.actuate..")
		.layer("test")
		.definedBy("io.pgbus.test..")
		.layer("autoconfigure")
		.definedBy("io.pgbus.autoconfigure..")
		.whereLayer("autoconfigure")
		.mayNotBeAccessedByAnyLayer()
		.whereLayer("test")
		.mayNotBeAccessedByAnyLayer()
		.whereLayer("annotation")
		.mayOnlyBeAccessedByLayers("autoconfigure")
		.whereLayer("actuate")
		.mayOnlyBeAccessedByLayers("autoconfigure")
		.whereLayer("listener")
		.mayOnlyBeAccessedByLayers("annotation", "actuate", "test", "autoconfigure")
		.whereLayer("core")
		.mayOnlyBeAccessedByLayers("listener", "annotation", "actuate", "test", "autoconfigure")
		.whereLayer("store")
		.mayOnlyBeAccessedByLayers("replication", "core", "listener", "annotation", "actuate", "test", "autoconfigure")
		.whereLayer("replication")
		.mayOnlyBeAccessedByLayers("core", "listener", "annotation", "actuate", "test", "autoconfigure");

	@ArchTest
	static final ArchRule wordsNeedNothingAbove = noClasses().that()
		.resideInAPackage("io.pgbus")
		.should()
		.dependOnClassesThat()
		.resideInAnyPackage("io.pgbus.(*)..");

	@ArchTest
	static final ArchRule packagesHaveNoCycles = slices().matching("io.pgbus.(*)..").should().beFreeOfCycles();

	@ArchTest
	static final ArchRule springBootIsOnlyKnownAtTheTop = noClasses().that()
		.resideOutsideOfPackages("io.pgbus.autoconfigure..", "io.pgbus.actuate..")
		.should()
		.dependOnClassesThat()
		.resideInAPackage("org.springframework.boot..");

	@ArchTest
	static final ArchRule jdbcIsOnlyKnownAtTheBottom = noClasses().that()
		.resideOutsideOfPackages("io.pgbus.store..", "io.pgbus.replication..")
		.should()
		.dependOnClassesThat()
		.resideInAnyPackage("org.postgresql..", "java.sql..", "org.springframework.jdbc..");

	@ArchTest
	static final ArchRule jacksonIsOnlyKnownToConverters = noClasses().that()
		.resideOutsideOfPackages("io.pgbus.core..", "io.pgbus.autoconfigure..")
		.should()
		.dependOnClassesThat()
		.resideInAnyPackage("tools.jackson..", "com.fasterxml.jackson..");

	@ArchTest
	static final ArchRule metersAndTracersAreOnlyKnownAtTheTop = noClasses().that()
		.resideOutsideOfPackages("io.pgbus.autoconfigure..", "io.pgbus.actuate..")
		.should()
		.dependOnClassesThat()
		.resideInAnyPackage("io.micrometer.core..", "io.micrometer.tracing..");

	@ArchTest
	static final ArchRule packagesSayWhatTheyAreFor = noClasses().should()
		.resideInAnyPackage("..util..", "..common..", "..support..", "..internal..", "..impl..");

	@ArchTest
	static void everyPackageIsNullMarked(JavaClasses classes) {
		classes().that()
			.areNotNestedClasses()
			.should(com.tngtech.archunit.lang.conditions.ArchConditions
				.be(com.tngtech.archunit.base.DescribedPredicate.describe("in a null-marked package",
						(JavaClass type) -> type.getPackage()
							.tryGetAnnotationOfType(org.jspecify.annotations.NullMarked.class)
							.isPresent())))
			.check(classes);
	}

}
