package talos

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/argsbuilder"
	"github.com/siderolabs/talos/pkg/machinery/config"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"

	"github.com/em-infra/em-infra/internal/lab/talos/service"
)

// publishKubeletSpec publishes what the kubelet is started with. Talos restarts the kubelet when it changes (k8s/kubelet_spec.go,
// kubelet_service.go). It publishes only the part of the kubelet's configuration that is in the machine configuration; Talos' own part
// changes with its release only. The argument node-ip is left out, since nothing reads it.
func (s *system) publishKubeletSpec(cfg config.Provider, n nodeNetwork) error {
	own := cfg.Machine().Kubelet()

	args := argsbuilder.Args{
		"bootstrap-kubeconfig": "/etc/kubernetes/bootstrap-kubeconfig",
		"cert-dir":             "/var/lib/kubelet/pki",
		"config":               "/etc/kubernetes/kubelet.yaml",
		"hostname-override":    n.hostname,
		"kubeconfig":           "/etc/kubernetes/kubeconfig-kubelet",
	}

	if cfg.Cluster().ExternalCloudProvider().Enabled() {
		args.Set("cloud-provider", "external")
	}

	policies := argsbuilder.MergePolicies{}
	for _, fixed := range []string{"bootstrap-kubeconfig", "kubeconfig", "container-runtime", "container-runtime-endpoint", "config", "cert-dir"} {
		policies[fixed] = argsbuilder.MergeDenied
	}

	if err := args.Merge(own.ExtraArgs(), argsbuilder.WithMergePolicies(policies)); err != nil {
		return fmt.Errorf("arguments of the kubelet: %w", err)
	}

	if err := s.publishKubeletSecrets(cfg); err != nil {
		return err
	}

	return put(s, newKubeletSpec(), func(r *k8s.KubeletSpec) {
		*r.TypedSpec() = k8s.KubeletSpecSpec{
			Image: own.Image(), Args: args.Args(), ExtraMounts: own.ExtraMounts(), ExpectedNodename: n.hostname,
			Config: own.ExtraConfig(), CredentialProviderConfig: own.CredentialProviderConfig(),
		}
	})
}

// publishKubeletSecrets publishes the CAs that the kubelet accepts and the token with which it joins (secrets/kubelet.go). Talos restarts
// the kubelet when they change, too.
func (s *system) publishKubeletSecrets(cfg config.Provider) error {
	cluster := cfg.Cluster()

	endpoint, err := kubeletEndpoint(cfg)
	if err != nil {
		return err
	}

	return put(s, newKubeletSecrets(), func(r *secrets.Kubelet) {
		accepted := slices.Clone(cluster.AcceptedCAs())
		if issuing := cluster.IssuingCA(); issuing != nil {
			accepted = append([]*x509.PEMEncodedCertificate{{Crt: issuing.Crt}}, accepted...)
		}

		*r.TypedSpec() = secrets.KubeletSpec{
			Endpoint: endpoint, AcceptedCAs: accepted,
			BootstrapTokenID: cluster.Token().ID(), BootstrapTokenSecret: cluster.Token().Secret(),
		}
	})
}

// kubeletEndpoint returns where the kubelet looks for the Kubernetes API (secrets/kubelet.go).
func kubeletEndpoint(cfg config.Provider) (*url.URL, error) {
	switch prism := cfg.Machine().Features().KubePrism(); {
	case prism.Enabled():
		return url.Parse(fmt.Sprintf("https://127.0.0.1:%d", prism.Port()))
	case cfg.Machine().Type().IsControlPlane():
		return url.Parse(fmt.Sprintf("https://localhost:%d", cfg.Cluster().LocalAPIServerPort()))
	default:
		return cfg.Cluster().Endpoint(), nil
	}
}

func newKubeletSecrets() *secrets.Kubelet { return secrets.NewKubelet(secrets.KubeletID) }

// kubeletInputs returns the versions of what the kubelet is started with.
func (s *system) kubeletInputs() [2]string {
	return [2]string{s.versionOf(newKubeletSpec()), s.versionOf(newKubeletSecrets())}
}

func newKubeletSpec() *k8s.KubeletSpec { return k8s.NewKubeletSpec(k8s.NamespaceName, k8s.KubeletID) }

// restartKubelet stops the kubelet, pulls its image and starts it. The resource of its service is gone in between.
func (s *system) restartKubelet(ctx context.Context) error {
	s.kubeletRestart.Lock()
	defer s.kubeletRestart.Unlock()

	if err := s.services.Set(kubelet, service.Finished, "Service finished successfully"); err != nil {
		return err
	}

	if err := s.podImages.pull(ctx, s, s.config().Machine().Kubelet().Image()); err != nil {
		return err
	}

	if err := s.vm.step(ctx, StepKubelet, s.fleet.config.Durations.Kubelet); err != nil {
		return err
	}

	if s.take() != nil {
		return nil // the machine goes down
	}

	return s.services.Start(kubelet)
}
