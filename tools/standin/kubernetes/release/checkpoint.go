package release

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"helm.sh/helm/v3/pkg/action"
	helm "helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/releaseutil"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/properties"
)

// inputsKey is the key of the inputs in the state. They are secret as a whole.
const inputsKey = "__inputs"

// checkpoint returns the state of a release. If there is no release yet, the values that only Helm knows are unknown.
func checkpoint(given resource.PropertyMap, in inputs, out *outputs) resource.PropertyMap {
	state := encode(in)
	if out != nil {
		maps.Copy(state, encode(*out))
	}
	state[inputsKey] = resource.MakeSecret(resource.NewProperty(given))
	properties.MarkUnknown(state, given)
	properties.MarkSecrets(state, given)
	if out == nil {
		for _, name := range []resource.PropertyKey{"resourceNames", "status"} {
			state[name] = resource.MakeComputed(resource.NewProperty(""))
		}
	}
	return state
}

// inputsOf returns the inputs in a state; nil if it has none.
func inputsOf(state resource.PropertyMap) resource.PropertyMap {
	kept := state[inputsKey]
	if kept.IsSecret() {
		kept = kept.SecretValue().Element
	}
	if kept.IsObject() {
		return kept.ObjectValue()
	}
	return nil
}

// decodeState reads the inputs at the top of a state, which are those of the deployed release.
func decodeState(state resource.PropertyMap) (inputs, error) {
	rest := state.Copy()
	for _, name := range []resource.PropertyKey{inputsKey, "status", "resourceNames", "checksum"} {
		delete(rest, name)
	}
	return decode(rest)
}

// describe returns the inputs and outputs of a deployed release. Helm's values overwrite those of the inputs.
func describe(in inputs, deployed *helm.Release) (inputs, *outputs, error) {
	metadata := deployed.Chart.Metadata
	in.Name, in.Namespace, in.Version = deployed.Name, deployed.Namespace, metadata.Version
	if in.Chart == "" {
		in.Chart = metadata.Name
	}
	in.Values = merge(in.Values, deployed.Config)
	names, err := resourceNames(deployed.Manifest)
	if err != nil {
		return in, nil, err
	}
	return in, &outputs{
		ResourceNames: names,
		Status: &status{
			AppVersion: metadata.AppVersion, Chart: metadata.Name, Name: deployed.Name, Namespace: deployed.Namespace,
			Revision: &deployed.Version, Status: deployed.Info.Status.String(), Version: metadata.Version,
		},
	}, nil
}

// resourceNames returns the names of the objects in a manifest.
func resourceNames(manifest string) (map[string][]string, error) {
	names := map[string][]string{}
	for _, text := range releaseutil.SplitManifests(manifest) {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &object.Object); err != nil {
			return nil, fmt.Errorf("read the manifest of a release: %w", err)
		}
		if object.GetKind() == "" {
			continue // only comments
		}
		kind := object.GroupVersionKind().GroupKind().String() + "/" + object.GetAPIVersion()
		name := object.GetName()
		if namespace := object.GetNamespace(); namespace != "" {
			name = namespace + "/" + name
		}
		names[kind] = append(names[kind], name)
	}
	for kind := range names {
		slices.Sort(names[kind])
		names[kind] = slices.Compact(names[kind])
	}
	return names, nil
}

// find returns the latest revision of a release; nil if there is none.
func find(configuration *action.Configuration, name string) (*helm.Release, error) {
	found, err := action.NewGet(configuration).Run(name)
	if errors.Is(err, driver.ErrReleaseNotFound) {
		return nil, nil
	}
	return found, err
}
