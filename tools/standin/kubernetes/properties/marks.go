package properties

import "github.com/pulumi/pulumi/sdk/v3/go/common/resource"

// MarkSecrets makes secret in target what is secret in source. It marks the properties of objects one by one, so that one secret
// does not hide a whole resource. It marks a list as a whole, since a server may change its order. The data of a Kubernetes Secret
// is always secret, wherever it is.
func MarkSecrets(target, source resource.PropertyMap) {
	if kind, ok := target["kind"]; ok && kind.IsString() && kind.StringValue() == "Secret" {
		for _, name := range []resource.PropertyKey{"data", "stringData"} {
			if data, ok := target[name]; ok && !data.IsSecret() {
				target[name] = resource.MakeSecret(data)
			}
		}
		return
	}
	for name, from := range source {
		to, ok := target[name]
		switch {
		case !ok || to.IsSecret():
		case to.IsObject() && from.IsObject():
			MarkSecrets(to.ObjectValue(), from.ObjectValue())
		case from.ContainsSecrets():
			target[name] = resource.MakeSecret(to)
		}
	}
}

// MarkUnknown makes unknown in target what is unknown in source.
func MarkUnknown(target, source resource.PropertyMap) {
	for name, from := range source {
		if to, ok := target[name]; ok {
			target[name] = markUnknown(to, from)
		} else if from.ContainsUnknowns() && !from.IsObject() && !from.IsArray() {
			target[name] = markUnknown(resource.NewNullProperty(), from)
		}
	}
}

func markUnknown(target, source resource.PropertyValue) resource.PropertyValue {
	switch {
	case source.IsSecret():
		return markUnknown(target, source.SecretValue().Element)
	case source.IsComputed() || source.IsOutput():
		return resource.MakeComputed(resource.NewProperty(""))
	case target.IsObject() && source.IsObject():
		MarkUnknown(target.ObjectValue(), source.ObjectValue())
	case target.IsArray() && source.IsArray():
		targets, sources := target.ArrayValue(), source.ArrayValue()
		for i := range min(len(targets), len(sources)) {
			targets[i] = markUnknown(targets[i], sources[i])
		}
	}
	return target
}
