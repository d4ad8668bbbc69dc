package talos

import (
	"fmt"
	"reflect"

	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/configdiff"
	"github.com/siderolabs/talos/pkg/machinery/config/container"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
)

// immediateFields returns the parts of a v1alpha1 configuration that take effect without a reboot: the list in Talos v1.12's
// v1alpha1_runtime.go (CanApplyImmediate), with the names of the machinery's fields. All other documents take effect without
// a reboot, too.
func immediateFields() (whole, machine, features []string) {
	whole = []string{"ConfigDebug", "ClusterConfig"}

	machine = []string{
		"MachineCA", "MachineAcceptedCAs", "MachineTime", "MachineCertSANs", "MachineInstall", "MachineNetwork",
		"MachineSysfs", "MachineSysctls", "MachineLogging", "MachineControlPlane", "MachineKubelet", "MachineKernel",
		"MachineRegistries", "MachinePods", "MachineSeccompProfiles", "MachineNodeAnnotations", "MachineNodeLabels",
		"MachineNodeTaints",
	}

	features = []string{
		"KubernetesTalosAPIAccessConfig", "KubePrismSupport", "HostDNSSupport", "ImageCacheSupport",
		"FeatureNodeAddressSortAlgorithm",
	}

	return whole, machine, features
}

// canApplyImmediately returns why a change needs a reboot, with the difference; nil if it needs none.
func canApplyImmediately(current, wanted config.Provider) error {
	now := current.RawV1Alpha1()
	then := wanted.RawV1Alpha1().DeepCopy()

	equalise(now, then)

	if reflect.DeepEqual(now, then) {
		return nil
	}

	diff, err := configdiff.DiffToString(container.NewV1Alpha1(now), container.NewV1Alpha1(then))
	if err != nil {
		return fmt.Errorf("error calculating diff: %w", err)
	}

	return fmt.Errorf("this config change can't be applied in immediate mode\ndiff:\n%s", diff)
}

// equalise copies the current values of all fields that may change.
func equalise(now, then *v1alpha1.Config) {
	whole, machine, features := immediateFields()

	copyFields(now, then, whole)

	if now.MachineConfig == nil || then.MachineConfig == nil {
		return
	}

	copyFields(now.MachineConfig, then.MachineConfig, machine)

	if now.MachineConfig.MachineFeatures != nil && then.MachineConfig.MachineFeatures != nil {
		copyFields(now.MachineConfig.MachineFeatures, then.MachineConfig.MachineFeatures, features)
	}
}

func copyFields[T any](from, to *T, names []string) {
	for _, name := range names {
		reflect.ValueOf(to).Elem().FieldByName(name).Set(reflect.ValueOf(from).Elem().FieldByName(name))
	}
}
