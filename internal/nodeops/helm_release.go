package nodeops

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
)

// Helm keeps each revision of a release in a Secret with these labels; the last revision holds the status of the release
// (helm.sh/helm/v3 v3.20.2, pkg/storage/driver/secrets.go and util.go, pkg/release/status.go).
const (
	helmOwner  = "owner=helm"
	helmFailed = "failed"
)

// helmRevision is the Secret of one revision. Fields that are not read are kept unchanged.
type helmRevision struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]any    `json:"metadata"`
	Type       string            `json:"type"`
	Data       map[string][]byte `json:"data"`
}

// AdoptRelease prepares the creation of a Helm release whose name is in use: a destroy failed half way and the state lost the
// release, or its installation was killed. It marks the revisions as failed, so that an installation that may replace a
// failed release adopts the existing objects (helm v3.20.2, pkg/action/install.go, availableName and
// existingResourceConflict). It does nothing if there is no such release.
func AdoptRelease(ctx context.Context, talosconfig []byte, namespace, name string) error {
	api, err := ReachKubernetes(ctx, talosconfig)
	if err != nil {
		return fmt.Errorf("look for an earlier Helm release %s/%s: %s: run up again when the cluster answers", namespace, name, oneLine(err))
	}
	defer api.Close()
	path := "/api/v1/namespaces/" + namespace + "/secrets"
	var list struct{ Items []helmRevision }
	query := url.Values{"labelSelector": {helmOwner + ",name=" + name}}
	if err := api.call(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &list); err != nil {
		return fmt.Errorf("look for an earlier Helm release %s/%s: %w: run up again", namespace, name, err)
	}
	for _, revision := range list.Items {
		// The items of a list have no apiVersion and kind.
		revision.APIVersion, revision.Kind = "v1", "Secret"
		if err := revision.markFailed(); err != nil {
			return fmt.Errorf("the Helm release %s/%s cannot be read (%w): remove it with `helm uninstall --namespace %s %s`, then run up again", namespace, name, err, namespace, name)
		}
		if err := api.call(ctx, http.MethodPut, path+"/"+revision.name(), revision, nil); err != nil {
			return fmt.Errorf("take over the Helm release %s/%s: %w: run up again", namespace, name, err)
		}
	}
	return nil
}

func (r *helmRevision) name() string {
	name, _ := r.Metadata["name"].(string)
	return name
}

// markFailed sets the status in both places that Helm reads: the release itself and the label for its selectors.
func (r *helmRevision) markFailed() error {
	release, err := decodeRelease(r.Data["release"])
	if err != nil {
		return err
	}
	info, ok := release["info"].(map[string]any)
	if !ok {
		return errors.New("it has no status")
	}
	info["status"] = helmFailed
	if r.Data["release"], err = encodeRelease(release); err != nil {
		return err
	}
	if labels, ok := r.Metadata["labels"].(map[string]any); ok {
		labels["status"] = helmFailed
	}
	return nil
}

// decodeRelease is the inverse of encodeRelease.
func decodeRelease(text []byte) (map[string]any, error) {
	packed, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil {
		return nil, err
	}
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	plain, err := io.ReadAll(reader)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(plain))
	decoder.UseNumber() // do not convert numbers to float64
	var release map[string]any
	err = decoder.Decode(&release)
	return release, err
}

// encodeRelease returns the release as JSON, compressed by gzip, in base64.
func encodeRelease(release map[string]any) ([]byte, error) {
	plain, err := json.Marshal(release)
	if err != nil {
		return nil, err
	}
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(plain); err != nil {
		return nil, err
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return []byte(base64.StdEncoding.EncodeToString(packed.Bytes())), nil
}
