// Package strictyaml decodes one YAML document into a Go value and reports all its problems at once, each with its line and its
// path.
//
// It is stricter than YAML: unknown and repeated keys, values of another type than the field's, empty values, tags, merge keys
// and documents beyond the first are findings. Struct tags configure the rest:
//
//	yaml:"name"       the key; yaml:",inline" joins the keys of an embedded struct
//	required:"true"   the key must exist; remedy:"…" is what to do if it does not, instead of "add it"
//	default:"[1, 2]"  a YAML value for a missing key; a struct's default is merged key by key
//	min:"1" max:"9"   the bounds of a whole number, or of the number of items in a list
package strictyaml
