// Package object serves the objects of a Kubernetes API as resources: every token kubernetes:GROUP/VERSION:KIND, of Kubernetes' own
// kinds and of custom resources. The group core is the one without a name.
//
// The semantics are those of pulumi-kubernetes v4.30.0 with server-side apply (provider/pkg/provider/provider.go and
// provider/pkg/await/await.go of the repository at that tag). docs/testing.md lists the differences.
package object

import (
	"fmt"
	"strings"
	"time"

	"github.com/pulumi/pulumi/sdk/v3/go/common/resource"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"

	"github.com/em-infra/em-infra/tools/standin/kubernetes/cluster"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/operation"
	"github.com/em-infra/em-infra/tools/standin/kubernetes/properties"
)

// Objects serves the objects of one cluster.
type Objects struct {
	connection *cluster.Connection
	log        operation.Log

	// retries are for a creation whose kind or namespace does not exist yet.
	retries wait.Backoff
	// interval is the time between two reads of an object that is waited for.
	interval time.Duration
}

// New returns the server of a cluster's objects. It retries as often as the official provider (retry in
// provider/pkg/await/await.go).
func New(connection *cluster.Connection, log operation.Log) *Objects {
	return &Objects{
		connection: connection, log: log,
		retries:  wait.Backoff{Duration: time.Second, Factor: 2, Steps: 6},
		interval: 200 * time.Millisecond,
	}
}

// kindOf returns the kind in a token.
func kindOf(urn resource.URN) (schema.GroupVersionKind, error) {
	kind := urn.Type()
	group, version, ok := strings.Cut(string(kind.Module().Name()), "/")
	if !ok || strings.Contains(version, "/") {
		return schema.GroupVersionKind{}, fmt.Errorf("%s: the token names no group and version of an API", kind)
	}
	if group == "core" {
		group = ""
	}
	return schema.GroupVersionKind{Group: group, Version: version, Kind: string(kind.Name())}, nil
}

// toObject returns properties as an object. Unknown values stay in it. Such an object is read, but never sent to the API server.
func toObject(inputs resource.PropertyMap) *unstructured.Unstructured {
	object, _ := properties.Whole(properties.Plain(inputs)).(map[string]any)
	return &unstructured.Unstructured{Object: object}
}

// client returns the client of the objects with the same kind and namespace.
func (o *Objects) client(object *unstructured.Unstructured) (dynamic.ResourceInterface, error) {
	return o.connection.Objects(object.GroupVersionKind(), object.GetNamespace())
}

// idOf returns the ID of an object: NAMESPACE/NAME, or NAME.
func idOf(object *unstructured.Unstructured) string {
	if namespace := object.GetNamespace(); namespace != "" {
		return namespace + "/" + object.GetName()
	}
	return object.GetName()
}

func parseID(id string) (namespace, name string) {
	if namespace, name, ok := strings.Cut(id, "/"); ok {
		return namespace, name
	}
	return "", id
}

// timeout returns the timeout of an operation: the program's, else that of the object's annotation, else ten minutes.
func timeout(seconds float64, inputs *unstructured.Unstructured) time.Duration {
	if seconds > 0 {
		return time.Duration(seconds * float64(time.Second))
	}
	if seconds, ok := annotatedSeconds(inputs); ok {
		return seconds
	}
	return 10 * time.Minute
}
