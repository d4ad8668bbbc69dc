package labstack

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/pulumi/pulumi/sdk/v3/go/common/apitype"
)

// StateFile returns the path of the stack's state.
func (s Stack) StateFile() string {
	return filepath.Join(s.Dir(), "state", ".pulumi", "stacks", "em-infra", s.Name+".json")
}

// State returns the content of the stack's state file, secrets encrypted. It is empty before the first checkpoint, and while it
// is being written.
func (s Stack) State() (apitype.DeploymentV3, error) {
	text, err := os.ReadFile(s.StateFile())
	if os.IsNotExist(err) {
		return apitype.DeploymentV3{}, nil
	}
	if err != nil {
		return apitype.DeploymentV3{}, err
	}
	var file struct {
		Checkpoint struct {
			Latest apitype.DeploymentV3 `json:"latest"`
		} `json:"checkpoint"`
	}
	if json.Unmarshal(text, &file) != nil {
		return apitype.DeploymentV3{}, nil // half of it is written
	}
	return file.Checkpoint.Latest, nil
}
