package talos

import (
	"errors"
	"net/netip"
	"slices"

	"github.com/cosi-project/runtime/pkg/resource"
	"github.com/siderolabs/crypto/x509"
	"github.com/siderolabs/talos/pkg/machinery/config"
	configinterface "github.com/siderolabs/talos/pkg/machinery/config/config"
	"github.com/siderolabs/talos/pkg/machinery/config/types/v1alpha1"
	"github.com/siderolabs/talos/pkg/machinery/resources/k8s"
	"github.com/siderolabs/talos/pkg/machinery/resources/secrets"
)

// StaticPodVersions are the versions from which a control plane's static pods are rendered. Talos writes them into the pods'
// annotations, so a pod with other versions still runs the former configuration (k8s/control_plane_static_pod.go).
type StaticPodVersions struct {
	// Config of each pod by its name, such as kube-apiserver.
	Config map[string]string
	// Files and Secrets are the versions of the configuration files and of the certificates that are mounted into the pods.
	Files, Secrets string
}

// publishStaticPodConfigs publishes a control plane's static pods with their inputs, and its manifests. The version of a resource changes only with
// its content, and starts at 1 with each boot.
func (s *system) publishStaticPodConfigs(cfg config.Provider, n nodeNetwork) error {
	if !cfg.Machine().Type().IsControlPlane() {
		return nil
	}

	return errors.Join(
		s.publishPodConfigs(cfg),
		s.publishPodFiles(cfg),
		s.publishPodSecrets(cfg, n),
		s.publishStaticPodSpecs(cfg),
		s.publishManifests(cfg),
	)
}

// publishPodConfigs publishes the arguments of the pods (k8s/control_plane.go).
func (s *system) publishPodConfigs(cfg config.Provider) error {
	cluster, plane := cfg.Cluster(), cfg.Machine().Controlplane()

	cloud := ""
	if cluster.ExternalCloudProvider().Enabled() {
		cloud = "external"
	}

	return errors.Join(
		put(s, k8s.NewAPIServerConfig(), func(r *k8s.APIServerConfig) {
			own := cluster.APIServer()
			*r.TypedSpec() = k8s.APIServerConfigSpec{
				Image: own.Image(), CloudProvider: cloud, ControlPlaneEndpoint: cluster.Endpoint().String(),
				EtcdServers: []string{"https://127.0.0.1:2379"}, LocalPort: cluster.LocalAPIServerPort(),
				ServiceCIDRs: cluster.Network().ServiceCIDRs(), ExtraArgs: own.ExtraArgs(), ExtraVolumes: extraVolumes(own.ExtraVolumes()),
				EnvironmentVariables: own.Env(), AdvertisedAddress: "$(POD_IP)", Resources: podResources(own.Resources()),
			}
		}),
		put(s, k8s.NewControllerManagerConfig(), func(r *k8s.ControllerManagerConfig) {
			own := cluster.ControllerManager()
			*r.TypedSpec() = k8s.ControllerManagerConfigSpec{
				Enabled: !plane.ControllerManager().Disabled(), Image: own.Image(), CloudProvider: cloud,
				PodCIDRs: cluster.Network().PodCIDRs(), ServiceCIDRs: cluster.Network().ServiceCIDRs(), ExtraArgs: own.ExtraArgs(),
				ExtraVolumes: extraVolumes(own.ExtraVolumes()), EnvironmentVariables: own.Env(), Resources: podResources(own.Resources()),
			}
		}),
		put(s, k8s.NewSchedulerConfig(), func(r *k8s.SchedulerConfig) {
			own := cluster.Scheduler()
			*r.TypedSpec() = k8s.SchedulerConfigSpec{
				Enabled: !plane.Scheduler().Disabled(), Image: own.Image(), ExtraArgs: own.ExtraArgs(), Config: own.Config(),
				ExtraVolumes: extraVolumes(own.ExtraVolumes()), EnvironmentVariables: own.Env(), Resources: podResources(own.Resources()),
			}
		}),
	)
}

// publishPodFiles publishes the configuration files of the pods and, when all are written, their common version
// (k8s/render_config_static_pods.go).
func (s *system) publishPodFiles(cfg config.Provider) error {
	api := cfg.Cluster().APIServer()

	err := errors.Join(
		put(s, k8s.NewAdmissionControlConfig(), func(r *k8s.AdmissionControlConfig) {
			r.TypedSpec().Config = nil
			for _, plugin := range api.AdmissionControl() {
				r.TypedSpec().Config = append(r.TypedSpec().Config, k8s.AdmissionPluginSpec{Name: plugin.Name(), Configuration: plugin.Configuration()})
			}
		}),
		put(s, k8s.NewAuditPolicyConfig(), func(r *k8s.AuditPolicyConfig) { r.TypedSpec().Config = api.AuditPolicy() }),
		put(s, k8s.NewAuthorizationConfig(), func(r *k8s.AuthorizationConfig) {
			r.TypedSpec().Image, r.TypedSpec().Config = api.Image(), authorizers(api.AuthorizationConfig())
		}),
	)
	if err != nil {
		return err
	}

	version := ""
	for _, part := range []resource.Resource{
		k8s.NewAdmissionControlConfig(), k8s.NewAuditPolicyConfig(), k8s.NewAuthorizationConfig(), k8s.NewSchedulerConfig(),
	} {
		version += s.versionOf(part)
	}

	return put(s, k8s.NewConfigStatus(k8s.ControlPlaneNamespaceName, k8s.ConfigStatusStaticPodID), func(r *k8s.ConfigStatus) {
		r.TypedSpec().Ready, r.TypedSpec().Version = true, version
	})
}

// authorizers returns the configuration's own authorizers, with those of Node and RBAC that they lack added at the beginning.
func authorizers(own []configinterface.AuthorizationConfigAuthorizer) []k8s.AuthorizationAuthorizersSpec {
	var all []k8s.AuthorizationAuthorizersSpec
	for _, a := range own {
		all = append(all, k8s.AuthorizationAuthorizersSpec{Type: a.Type(), Name: a.Name(), Webhook: a.Webhook()})
	}

	for i, standard := range v1alpha1.APIServerDefaultAuthorizationConfigAuthorizers {
		if !slices.ContainsFunc(all, func(a k8s.AuthorizationAuthorizersSpec) bool { return a.Type == standard.Type }) {
			all = slices.Insert(all, min(i, len(all)), standard)
		}
	}

	return all
}

// publishPodSecrets publishes the names in the API server's certificate, and the keys of Kubernetes. Talos makes new kubeconfigs of the
// controller manager and the scheduler whenever the keys change, and then all pods restart (secrets/kubernetes_cert_sans.go, secrets/root.go,
// secrets/kubernetes.go, k8s/render_secrets_static_pod.go).
func (s *system) publishPodSecrets(cfg config.Provider, n nodeNetwork) error {
	names := secrets.NewCertSAN(secrets.NamespaceName, secrets.CertSANKubernetesID)

	err := put(s, names, func(r *secrets.CertSAN) {
		spec := r.TypedSpec()
		spec.Reset()
		spec.Append(cfg.Cluster().Endpoint().Hostname())
		spec.Append(cfg.Cluster().CertSANs()...)
		spec.AppendDNSNames("kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc."+cfg.Cluster().Network().DNSDomain(), "localhost")
		spec.Append(n.hostname, n.fqdn())

		for _, address := range n.addresses {
			spec.AppendIPs(address.Addr())
		}

		spec.AppendIPs(netip.MustParseAddr("127.0.0.1"))
		spec.Sort()
	})
	if err != nil {
		return err
	}

	root := secrets.NewKubernetesRoot(secrets.KubernetesRootID)
	if err := put(s, root, func(r *secrets.KubernetesRoot) { rootOf(cfg.Cluster(), r.TypedSpec()) }); err != nil {
		return err
	}

	version := s.versionOf(root)

	return put(s, k8s.NewSecretsStatus(k8s.ControlPlaneNamespaceName, k8s.StaticPodSecretsStaticPodID), func(r *k8s.SecretsStatus) {
		r.TypedSpec().Ready, r.TypedSpec().Version = true, version
	})
}

// rootOf sets the keys of Kubernetes (secrets/root.go, NewRootKubernetesController).
func rootOf(cluster configinterface.ClusterConfig, spec *secrets.KubernetesRootSpec) {
	*spec = secrets.KubernetesRootSpec{
		Name: cluster.Name(), Endpoint: cluster.Endpoint(), CertSANs: cluster.CertSANs(), DNSDomain: cluster.Network().DNSDomain(),
		IssuingCA: cluster.IssuingCA(), AcceptedCAs: cluster.AcceptedCAs(), AggregatorCA: cluster.AggregatorCA(), ServiceAccount: cluster.ServiceAccount(),
		AESCBCEncryptionSecret: cluster.AESCBCEncryptionSecret(), SecretboxEncryptionSecret: cluster.SecretboxEncryptionSecret(),
		BootstrapTokenID: cluster.Token().ID(), BootstrapTokenSecret: cluster.Token().Secret(),
	}
	if ca := cluster.IssuingCA(); ca != nil {
		spec.AcceptedCAs = append(spec.AcceptedCAs, &x509.PEMEncodedCertificate{Crt: ca.Crt})
	}
}

// staticPodVersions returns the published versions; none for a worker.
func (s *system) staticPodVersions() StaticPodVersions {
	v := StaticPodVersions{Config: map[string]string{}}
	for id, r := range map[string]resource.Resource{
		k8s.APIServerID: k8s.NewAPIServerConfig(), k8s.ControllerManagerID: k8s.NewControllerManagerConfig(), k8s.SchedulerID: k8s.NewSchedulerConfig(),
	} {
		v.Config[id] = s.versionOf(r)
	}

	if r, err := s.resources.Get(s.ctx, k8s.NewConfigStatus(k8s.ControlPlaneNamespaceName, k8s.ConfigStatusStaticPodID).Metadata()); err == nil {
		v.Files = r.(*k8s.ConfigStatus).TypedSpec().Version
	}

	if r, err := s.resources.Get(s.ctx, k8s.NewSecretsStatus(k8s.ControlPlaneNamespaceName, k8s.StaticPodSecretsStaticPodID).Metadata()); err == nil {
		v.Secrets = r.(*k8s.SecretsStatus).TypedSpec().Version
	}

	return v
}

// versionOf returns the version of a published resource; "" if it does not exist.
func (s *system) versionOf(r resource.Resource) string {
	found, err := s.resources.Get(s.ctx, r.Metadata())
	if err != nil {
		return ""
	}

	return found.Metadata().Version().String()
}

func extraVolumes(volumes []configinterface.VolumeMount) []k8s.ExtraVolume {
	var all []k8s.ExtraVolume
	for _, v := range volumes {
		all = append(all, k8s.ExtraVolume{Name: v.Name(), HostPath: v.HostPath(), MountPath: v.MountPath(), ReadOnly: v.ReadOnly()})
	}

	return all
}

func podResources(own configinterface.Resources) k8s.Resources {
	r := k8s.Resources{Requests: map[string]string{"cpu": own.CPURequests(), "memory": own.MemoryRequests()}}

	for name, limit := range map[string]string{"cpu": own.CPULimits(), "memory": own.MemoryLimits()} {
		if limit != "" {
			if r.Limits == nil {
				r.Limits = map[string]string{}
			}

			r.Limits[name] = limit
		}
	}

	return r
}
