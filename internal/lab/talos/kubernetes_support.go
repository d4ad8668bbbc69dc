package talos

import (
	"fmt"

	"github.com/hashicorp/go-multierror"
	"github.com/siderolabs/talos/pkg/machinery/api/machine"
	"github.com/siderolabs/talos/pkg/machinery/compatibility"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
)

// withoutKubernetes returns a configuration with the library's own images of Kubernetes. The library judges images by its own release
// of Talos, but a node judges them by the release that it runs.
func withoutKubernetes(cfg config.Provider) (config.Provider, error) {
	if cfg.RawV1Alpha1() == nil {
		return cfg, nil
	}

	return cfg.PatchV1Alpha1(func(c *v1alpha1.Config) error {
		if c.MachineConfig != nil && c.MachineConfig.MachineKubelet != nil {
			c.MachineConfig.MachineKubelet.KubeletImage = ""
		}

		if cluster := c.ClusterConfig; cluster != nil {
			if cluster.APIServerConfig != nil {
				cluster.APIServerConfig.ContainerImage = ""
			}

			if cluster.ControllerManagerConfig != nil {
				cluster.ControllerManagerConfig.ContainerImage = ""
			}

			if cluster.SchedulerConfig != nil {
				cluster.SchedulerConfig.ContainerImage = ""
			}
		}

		return nil
	})
}

// checkKubernetes returns why a release of Talos refuses the images of Kubernetes in a configuration
// (config/types/v1alpha1/v1alpha1_validation.go, RuntimeValidate).
func checkKubernetes(talos string, cfg config.Provider) error {
	if cfg.Machine() == nil {
		return nil
	}

	type image struct{ name, reference string }

	images := []image{{"kubelet", cfg.Machine().Kubelet().Image()}}
	if cfg.Cluster() != nil && cfg.Machine().Type().IsControlPlane() {
		images = append(images, image{"kube-apiserver", cfg.Cluster().APIServer().Image()},
			image{"kube-controller-manager", cfg.Cluster().ControllerManager().Image()}, image{"kube-scheduler", cfg.Cluster().Scheduler().Image()})
	}

	var refused *multierror.Error

	for _, i := range images {
		if err := supportsKubernetes(talos, i.reference); err != nil {
			refused = multierror.Append(refused, fmt.Errorf("%s image is not valid: %w", i.name, err))
		}
	}

	if refused == nil {
		return nil
	}

	return multierror.Append(nil, fmt.Errorf("v1alpha1.Config: %w", refused))
}

// supportsKubernetes returns why a release of Talos refuses an image of Kubernetes, with the texts of the library.
func supportsKubernetes(talos, image string) error {
	version, err := v1alpha1.KubernetesVersionFromImageRef(image)
	if err != nil {
		return fmt.Errorf("failed to parse Kubernetes version from image reference %q: %w", image, err)
	}

	later, isLater := laterReleases[minorOf(talos)]
	if !isLater {
		target, err := compatibility.ParseTalosVersion(&machine.VersionInfo{Tag: talos})
		if err != nil {
			return fmt.Errorf("failed to parse Talos version: %w", err)
		}

		return version.SupportedWith(target)
	}

	switch minor := minorOf("v" + version.String()); {
	case minor < later.kubernetes.first:
		return fmt.Errorf("version of Kubernetes %s is too old to be used with Talos %s", version, talos[1:])
	case minor > later.kubernetes.last:
		return fmt.Errorf("version of Kubernetes %s is too new to be used with Talos %s", version, talos[1:])
	default:
		return nil
	}
}
