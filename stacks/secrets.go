package stacks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/em-infra/em-infra/components"
	"github.com/em-infra/em-infra/internal/inventory"
)

// SecretsReader reads the secrets beside an inventory, by paths with dots between their keys, such as truenas.apiKey. A folder
// without a secrets file has none. Its error is a sentence that ends with what to do and quotes no secret.
type SecretsReader func(ctx context.Context, folder string) (map[string]string, error)

// readByTool runs the tool to read the file: the sops library would more than double the program's build
// (docs/decisions/0004-sops.md). The secrets are passed through a pipe.
func readByTool(root string) SecretsReader {
	return func(ctx context.Context, folder string) (map[string]string, error) {
		if _, err := os.Stat(filepath.Join(folder, inventory.SecretsFile)); errors.Is(err, os.ErrNotExist) {
			return nil, nil
		}
		var stdout bytes.Buffer
		err := components.ToolRun{Command: "secrets reveal", Arguments: `--inventory "$0"`, Value: folder, Dir: root, Stdout: &stdout}.Do(ctx)
		if err != nil {
			return nil, err
		}
		var values map[string]string
		if err := json.Unmarshal(stdout.Bytes(), &values); err != nil {
			return nil, errors.New("em-infra secrets reveal did not answer in JSON: build em-infra anew") // the cause may quote a secret
		}
		return values, nil
	}
}
