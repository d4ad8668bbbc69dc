package components

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes"
	"github.com/pulumi/pulumi-kubernetes/sdk/v4/go/kubernetes/utilities"
	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"

	"github.com/em-infra/em-infra/internal/engine/token"
	"github.com/em-infra/em-infra/internal/nodeops"
)

// Objects are registered by their tokens, as the SDK's own CustomResource does it. Its typed objects would take longer to
// compile than the rest of the program: core/v1 alone is five megabytes of source (docs/decisions/0009).

// object is a Kubernetes object that only has to exist.
type object struct{ pulumi.CustomResourceState }

// addObject registers an object in a namespace, which is empty for a cluster-wide object.
func (c *ClusterAddons) addObject(ctx *pulumi.Context, suffix string, kind objectKind, namespace, objectName string, fields pulumi.Map, opts ...pulumi.ResourceOption) (pulumi.Resource, error) {
	metadata := pulumi.Map{"name": pulumi.String(objectName)}
	if namespace != "" {
		metadata["namespace"] = pulumi.String(namespace)
	}
	inputs := kubernetes.UntypedArgs{
		"apiVersion": pulumi.String(kind.apiVersion), "kind": pulumi.String(kind.name), "metadata": metadata,
	}
	for key, value := range fields {
		inputs[key] = value
	}
	made := &object{}
	err := ctx.RegisterResource(kind.token(), c.name+"-"+suffix, inputs, made, utilities.PkgResourceDefaultOpts(c.inCluster(opts...))...)
	return made, err
}

// objectKind is a kind of object.
type objectKind struct{ apiVersion, name string }

// The kinds of objects that addons create.
var (
	kindNamespace     = objectKind{"v1", "Namespace"}
	kindSecret        = objectKind{"v1", "Secret"}
	kindConfigMap     = objectKind{"v1", "ConfigMap"}
	kindStorageClass  = objectKind{"storage.k8s.io/v1", "StorageClass"}
	kindRuntimeClass  = objectKind{"node.k8s.io/v1", "RuntimeClass"}
	kindGitRepository = objectKind{"source.toolkit.fluxcd.io/v1", "GitRepository"}
	kindOCIRepository = objectKind{"source.toolkit.fluxcd.io/v1", "OCIRepository"}
	kindKustomization = objectKind{"kustomize.toolkit.fluxcd.io/v1", "Kustomization"}
	kindCronJob       = objectKind{"batch/v1", "CronJob"}
	kindTalosAccount  = objectKind{"talos.dev/v1alpha1", "ServiceAccount"}
)

// token returns the type in pulumi-kubernetes, which calls the core group "core"; in Kubernetes its name is empty.
func (k objectKind) token() string {
	group := k.apiVersion
	if !strings.Contains(group, "/") {
		group = "core/" + group
	}
	return token.OfKubernetes + group + ":" + k.name
}

// givenNamespaces exist in every cluster (kube-apiserver, pkg/controlplane/controller/systemnamespaces).
var givenNamespaces = []string{"default", "kube-node-lease", "kube-public", "kube-system"}

// namespace returns the dependency of the objects in a namespace. The first call for a namespace creates it.
func (c *ClusterAddons) namespace(ctx *pulumi.Context, name string) (pulumi.ResourceOption, error) {
	if slices.Contains(givenNamespaces, name) {
		return pulumi.DependsOn(nil), nil
	}
	made, found := c.namespaces[name]
	if !found {
		var fields pulumi.Map
		if slices.Contains(c.args.privilegedNamespaces(), name) {
			fields = privileged(name)
		}
		var err error
		if made, err = c.addObject(ctx, "namespace-"+name, kindNamespace, "", name, fields); err != nil {
			return nil, err
		}
		c.namespaces[name] = made
	}
	return pulumi.DependsOn([]pulumi.Resource{made}), nil
}

// privilegedNamespaces returns the namespaces whose pods may be privileged. Their label is set when they are created, no matter for which object: a
// Secret of another addon may be the first one in them.
func (args ClusterAddonsArgs) privilegedNamespaces() []string {
	var names []string
	if args.TrueNAS != nil && args.TrueNAS.CSI != nil {
		names = append(names, csiName)
	}
	if args.GPU != nil && args.GPU.Operator != nil {
		names = append(names, nodeops.GPUOperatorNamespace)
	}
	return names
}

// privileged returns the fields of a namespace whose pods may be privileged.
func privileged(name string) pulumi.Map {
	return pulumi.Map{"metadata": pulumi.Map{
		"name":   pulumi.String(name),
		"labels": pulumi.StringMap{"pod-security.kubernetes.io/enforce": pulumi.String("privileged")},
	}}
}

// opaque is the type of a Secret with keys of any name.
const opaque = "Opaque"

// addSecret creates a Secret. The data stay secret in all outputs; they are passed encoded as data, since a key that is removed
// from stringData would stay in the object.
func (c *ClusterAddons) addSecret(ctx *pulumi.Context, namespace, objectName, secretType string, data map[string]pulumi.StringInput) (pulumi.Resource, error) {
	there, err := c.namespace(ctx, namespace)
	if err != nil {
		return nil, err
	}
	encoded := pulumi.StringMap{}
	for key, value := range data {
		text := pulumi.ToSecret(value).(pulumi.StringInput)
		encoded[key] = text.ToStringOutput().ApplyT(func(text string) string {
			return base64.StdEncoding.EncodeToString([]byte(text))
		}).(pulumi.StringOutput)
	}
	return c.addObject(ctx, "secret-"+objectName, kindSecret, namespace, objectName,
		pulumi.Map{"type": pulumi.String(secretType), "data": pulumi.ToSecret(encoded)},
		there, pulumi.AdditionalSecretOutputs([]string{"data", "stringData"}))
}
