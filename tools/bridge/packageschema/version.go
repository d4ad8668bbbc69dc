// Package packageschema completes the generated package schema of a bridged provider.
package packageschema

import (
	"encoding/json"
	"fmt"
)

// WithVersion returns the package schema (JSON) with its top-level version set. The generator omits the version, so that the file
// does not change with every build (pkg/tfgen/generate.go of pulumi-terraform-bridge).
func WithVersion(schema []byte, version string) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(schema, &fields); err != nil {
		return nil, fmt.Errorf("read the package schema: %w", err)
	}
	quoted, err := json.Marshal(version)
	if err != nil {
		return nil, fmt.Errorf("write version %q: %w", version, err)
	}
	fields["version"] = quoted
	return json.Marshal(fields)
}
