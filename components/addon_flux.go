package components

import (
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

const (
	// fluxSystem is the namespace of Flux and the name of the source and the Kustomization in it, as `flux bootstrap` has it.
	fluxSystem = "flux-system"
	// ageSecret and ageSecretKey name the Secret with the age key. Flux requires the suffix of the key (Kustomization,
	// spec.decryption).
	ageSecret, ageSecretKey = "sops-age", "age.agekey"
	// orphanPolicy is the deletion policy with which Flux keeps what it has applied when its Kustomization is deleted
	// (spec.deletionPolicy, since Flux 2.5): removing the addon removes no workloads.
	orphanPolicy = "Orphan"
)

// addFlux installs Flux: first its keys, then Flux with its CRDs, then the source and the Kustomization.
func (c *ClusterAddons) addFlux(ctx *pulumi.Context) error {
	flux := c.args.Flux
	if flux == nil {
		return nil
	}
	keys, err := c.addFluxKeys(ctx, *flux)
	if err != nil {
		return err
	}
	release, err := c.addRelease(ctx, "flux2", fluxSystem, flux.Chart, nil, pulumi.DependsOn(keys))
	if err != nil {
		return err
	}
	source, err := c.addSource(ctx, *flux, release)
	if err != nil || flux.Kustomization == nil {
		return err
	}
	return c.addKustomization(ctx, *flux, source)
}

// addFluxKeys creates the Secrets that Flux refers to.
func (c *ClusterAddons) addFluxKeys(ctx *pulumi.Context, flux Flux) (keys []pulumi.Resource, err error) {
	add := func(name, secretType string, data map[string]pulumi.StringInput) {
		if err != nil {
			return
		}
		var key pulumi.Resource
		key, err = c.addSecret(ctx, fluxSystem, name, secretType, data)
		keys = append(keys, key)
	}
	if flux.AgeKey != nil {
		add(ageSecret, opaque, map[string]pulumi.StringInput{ageSecretKey: flux.AgeKey})
	}
	if credentials := flux.credentials(); credentials != nil {
		secretType := credentials.Type
		if secretType == "" {
			secretType = opaque
		}
		add(credentials.SecretName, secretType, credentials.Data)
	}
	return keys, err
}

// credentials returns the credentials of the source; nil if it has none.
func (f Flux) credentials() *Credentials {
	switch {
	case f.Git != nil:
		return f.Git.Credentials
	case f.OCI != nil:
		return f.OCI.Credentials
	default:
		return nil
	}
}

// sourceKind returns the kind of the source object.
func (f Flux) sourceKind() objectKind {
	if f.OCI != nil {
		return kindOCIRepository
	}
	return kindGitRepository
}

// addSource creates the source after its CRD; nil if there is no source.
func (c *ClusterAddons) addSource(ctx *pulumi.Context, flux Flux, release pulumi.Resource) (pulumi.Resource, error) {
	var spec pulumi.Map
	switch {
	case flux.Git != nil:
		reference := pulumi.Map{"branch": pulumi.String(flux.Git.Branch)}
		if flux.Git.Tag != "" {
			reference = pulumi.Map{"tag": pulumi.String(flux.Git.Tag)}
		}
		spec = pulumi.Map{"url": pulumi.String(flux.Git.URL.String()), "interval": pulumi.String(flux.Git.Interval.String()), "ref": reference}
	case flux.OCI != nil:
		spec = pulumi.Map{
			"url": pulumi.String(flux.OCI.URL.String()), "interval": pulumi.String(flux.OCI.Interval.String()),
			"ref": pulumi.Map{"tag": pulumi.String(flux.OCI.Tag)},
		}
	default:
		return nil, nil
	}
	if credentials := flux.credentials(); credentials != nil {
		spec["secretRef"] = pulumi.Map{"name": pulumi.String(credentials.SecretName)}
	}
	return c.addObject(ctx, "flux-source", flux.sourceKind(), fluxSystem, fluxSystem, pulumi.Map{"spec": spec}, pulumi.DependsOn([]pulumi.Resource{release}))
}

// addKustomization has Flux apply the source. On removal it is deleted before the source, so that Flux can still finalize it.
func (c *ClusterAddons) addKustomization(ctx *pulumi.Context, flux Flux, source pulumi.Resource) error {
	spec := pulumi.Map{
		"path":           pulumi.String(flux.Kustomization.Path),
		"interval":       pulumi.String(flux.Kustomization.Interval.String()),
		"prune":          pulumi.Bool(flux.Kustomization.Prune),
		"deletionPolicy": pulumi.String(orphanPolicy),
		"sourceRef":      pulumi.Map{"kind": pulumi.String(flux.sourceKind().name), "name": pulumi.String(fluxSystem)},
	}
	if flux.AgeKey != nil {
		spec["decryption"] = pulumi.Map{"provider": pulumi.String("sops"), "secretRef": pulumi.Map{"name": pulumi.String(ageSecret)}}
	}
	_, err := c.addObject(ctx, "flux-kustomization", kindKustomization, fluxSystem, fluxSystem, pulumi.Map{"spec": spec}, pulumi.DependsOn([]pulumi.Resource{source}))
	return err
}
