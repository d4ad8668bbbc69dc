package inventory

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/em-infra/em-infra/internal/inventory/strictyaml"
)

// flux checks that there is at most one source, that it is reachable with the given settings, and that it is used.
func (c *checker) flux(flux Flux, at *strictyaml.Path) {
	c.chart(flux.Chart, at)
	c.ordinaryPods(flux.Values, at)
	c.fluxKubernetes(flux, at)
	if flux.GitRepository != nil && flux.OCIRepository != nil {
		c.cluster(at, fault{What: "has a gitRepository and an ociRepository", Rule: "at most one of the two", Do: "remove one of them"})
	}
	if flux.Kustomization != nil && flux.GitRepository == nil && flux.OCIRepository == nil {
		c.cluster(at.Key("kustomization"), fault{What: "has nothing to apply", Rule: "it takes it from a source", Do: "add a gitRepository or an ociRepository"})
	}
	if flux.GitRepository != nil {
		c.gitRepository(*flux.GitRepository, at.Key("gitRepository"))
	}
	if source := flux.OCIRepository; source != nil {
		at := at.Key("ociRepository")
		c.url(source.URL, at.Key("url"), "oci")
		c.secretName(source.SecretRef, at.Key("secretRef"))
		c.ownSecret(source.SecretRef, at.Key("secretRef"))
	}
}

// oldestForFlux is the oldest Kubernetes that the default chart supports: before the installation, a job of it runs `flux check
// --pre` (flux2 v2.8.5, cmd/flux/check.go, kubernetesConstraints).
var oldestForFlux = Contract{Major: 1, Minor: 33}

// fluxKubernetes checks the Kubernetes version for the default chart; another chart has rules of its own.
func (c *checker) fluxKubernetes(flux Flux, at *strictyaml.Path) {
	kubernetes := c.inv.Cluster.Kubernetes.Version
	if flux.Version.String() != publishedFlux.version || kubernetes.IsZero() || kubernetes.Contract().Compare(oldestForFlux) >= 0 {
		return
	}
	c.cluster(at, fault{
		What: "does not install into Kubernetes " + kubernetes.String(), Rule: "the chart flux2 " + publishedFlux.version + " needs " + oldestForFlux.String() + " or newer",
		Do: "choose a newer kubernetes.version, or an older chart with version",
	})
}

func (c *checker) gitRepository(source GitRepository, at *strictyaml.Path) {
	c.gitURL(source.URL, at.Key("url"))
	c.secretName(source.SecretRef, at.Key("secretRef"))
	c.ownSecret(source.SecretRef, at.Key("secretRef"))
	if source.Branch != "" && source.Tag != "" {
		c.cluster(at, fault{What: "has a branch and a tag", Rule: "at most one of the two", Do: "remove one of them"})
	}
	if strings.HasPrefix(source.URL, "ssh://") && source.SecretRef == "" {
		c.cluster(at, fault{
			What: "has no secretRef", Rule: "ssh needs a key",
			Do: "add one like secretRef: flux-system, and git.identity and git.knownHosts to the secrets",
		})
	}
}

// scpForm is git's short form of ssh, which Flux does not support.
var scpForm = regexp.MustCompile(`^([A-Za-z0-9._-]+@[A-Za-z0-9.-]+):([^/].*)$`)

func (c *checker) gitURL(text string, at *strictyaml.Path) {
	if parts := scpForm.FindStringSubmatch(text); parts != nil {
		c.cluster(at, fault{What: "is not a URL", Got: text, Do: "did you mean ssh://" + parts[1] + "/" + parts[2] + "?"})
		return
	}
	c.url(text, at, "https", "ssh", "http")
}

// url checks a URL with one of the schemes. It does not quote a URL that may contain a password.
func (c *checker) url(text string, at *strictyaml.Path, schemes ...string) {
	if text == "" {
		return
	}
	location, err := url.Parse(text)
	if err != nil {
		c.cluster(at, fault{What: "is not a URL", Do: "write one like " + schemes[0] + "://host/path"})
		return
	}
	_, password := location.User.Password()
	switch {
	case password || location.User != nil && location.Scheme != "ssh":
		c.cluster(at, fault{What: "holds credentials", Rule: "this file is no place for them", Do: "remove them from the URL and put them into secrets.sops.yaml"})
	case location.Host == "" || !slices.Contains(schemes, location.Scheme):
		c.cluster(at, fault{What: "is not a URL of a kind that can be used here", Rule: enumerated(schemes), Got: text, Do: "write one like " + schemes[0] + "://host/path"})
	}
}

// fluxSystem is the namespace and the usual name of everything that belongs to Flux.
const fluxSystem = "flux-system"

// secretName checks the name of a Secret.
func (c *checker) secretName(name string, at *strictyaml.Path) {
	if name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		c.cluster(at, fault{
			What: "is not the name of a Secret", Rule: "a-z, 0-9, - and ., beginning and ending with a letter or a digit", Got: name,
			Do: "write one like " + fluxSystem,
		})
	}
}

// ownSecret refuses a name for the Secret of a source if the Secret of another addon has that name: the engine identifies a Secret by its name alone,
// regardless of its namespace (components/addon_secrets.go).
func (c *checker) ownSecret(name string, at *strictyaml.Path) {
	addons := c.inv.Cluster.Addons
	for _, taken := range []struct {
		name, by string
		is       bool
	}{
		{"sops-age", "flux.decryption", addons.Flux.Decryption != nil},
		{"truenas-api", "truenas", addons.TrueNAS != nil},
		{"truenas-api-credentials", "truenas.csi", addons.TrueNAS != nil && addons.TrueNAS.CSI != nil},
		{"etcd-backup-bucket", "etcdBackup", addons.EtcdBackup != nil},
	} {
		if taken.is && name == taken.name {
			c.cluster(at, fault{What: "is the name of another Secret", Rule: "that of addons." + taken.by, Got: name, Do: "choose another one like " + fluxSystem})
		}
	}
}
