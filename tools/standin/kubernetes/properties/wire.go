// Package properties converts properties between Pulumi's protocol, its state, and plain JSON values.
package properties

import (
	"fmt"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"github.com/pulumi/pulumi/sdk/v3/go/common/resource/plugin"
	"google.golang.org/protobuf/types/known/structpb"
)

// Nulls are kept, because in Helm's values they remove defaults (pulumi-kubernetes 4.30.0, issue 2997).
var options = plugin.MarshalOptions{KeepUnknowns: true, KeepSecrets: true}

// FromWire reads the properties of a request.
func FromWire(wire *structpb.Struct) (resource.PropertyMap, error) {
	if wire == nil {
		return resource.PropertyMap{}, nil
	}
	read, err := plugin.UnmarshalProperties(wire, options)
	if err != nil {
		return nil, fmt.Errorf("read the properties of a request: %w", err)
	}
	return read, nil
}

// ToWire writes the properties of a response.
func ToWire(written resource.PropertyMap) (*structpb.Struct, error) {
	wire, err := plugin.MarshalProperties(written, options)
	if err != nil {
		return nil, fmt.Errorf("write the properties of a response: %w", err)
	}
	return wire, nil
}
