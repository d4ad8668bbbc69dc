package kubectlconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Owner distinguishes the entries of one stack from those of another.
type Owner struct {
	// Stack is the name of the stack. Required.
	Stack string `json:"stack"`
	// Project is the folder of its project. Required.
	Project string `json:"project"`
	// Rehearsed is whether the cluster is that of a rehearsal.
	Rehearsed bool `json:"rehearsed,omitempty"`
}

// mark is what an entry that was put in carries, as an extension of that name. Programs that do not know it keep it.
type mark struct {
	Owner
	// Former is the current context before it was this one; only in a context that was made the current one.
	Former *string `json:"formerContext,omitempty"`
}

const extension = "em-infra"

// ErrOther means that an entry of the same name is not that of the stack.
var ErrOther = errors.New("is there already, and is not of this stack")

// Merge puts cluster, user and context of a kubeconfig, which has one of each, into another. With use, its context becomes the current one. Entries
// of the same name that it has put there before are replaced; for entries of others the error is [ErrOther], unless they are the same.
func Merge(into, from *clientcmdapi.Config, owner Owner, use bool) error {
	name, context, err := only(from)
	if err != nil {
		return err
	}
	if err := checkFree(into, name, context, from, owner); err != nil {
		return err
	}
	if isOurs(into.Clusters[context.Cluster], owner) || into.Clusters[context.Cluster] == nil {
		put(into.Clusters, context.Cluster, from.Clusters[context.Cluster].DeepCopy(), mark{Owner: owner})
	}
	if isOurs(into.AuthInfos[context.AuthInfo], owner) || into.AuthInfos[context.AuthInfo] == nil {
		put(into.AuthInfos, context.AuthInfo, from.AuthInfos[context.AuthInfo].DeepCopy(), mark{Owner: owner})
	}
	marked := mark{Owner: owner}
	if there := into.Contexts[name]; there != nil {
		if !isOurs(there, owner) {
			makeCurrent(into, name, use)
			return nil
		}
		found, _ := markOf(there)
		context.Namespace, marked.Former = there.Namespace, found.Former
	}
	if use && into.CurrentContext != name {
		former := into.CurrentContext
		marked.Former = &former
	}
	put(into.Contexts, name, context, marked)
	makeCurrent(into, name, use)
	return nil
}

func makeCurrent(config *clientcmdapi.Config, name string, use bool) {
	if use {
		config.CurrentContext = name
	}
}

// Unmerge removes what was put in for a stack, and reports whether there was anything. If its context is the current one, the context that was
// current before becomes that again.
func Unmerge(config *clientcmdapi.Config, owner Owner) bool {
	found := false
	for name, context := range config.Contexts {
		if !isOurs(context, owner) {
			continue
		}
		marked, _ := markOf(context)
		delete(config.Contexts, name)
		found = true
		if config.CurrentContext != name {
			continue
		}
		config.CurrentContext = ""
		if marked.Former != nil && config.Contexts[*marked.Former] != nil {
			config.CurrentContext = *marked.Former
		}
	}
	users, clusters := remove(config.AuthInfos, owner), remove(config.Clusters, owner)
	return found || users || clusters
}

// remove deletes the entries of a stack.
func remove[T entry](entries map[string]T, owner Owner) bool {
	found := false
	for name, one := range entries {
		if isOurs(one, owner) {
			delete(entries, name)
			found = true
		}
	}
	return found
}

// only returns the context of a kubeconfig that has one.
func only(config *clientcmdapi.Config) (string, *clientcmdapi.Context, error) {
	for name, context := range config.Contexts {
		if len(config.Contexts) == 1 && config.Clusters[context.Cluster] != nil && config.AuthInfos[context.AuthInfo] != nil {
			return name, context.DeepCopy(), nil
		}
	}
	return "", nil, errors.New("the kubeconfig of the stack has not one context with its cluster and its user: run up again")
}

// checkFree refuses entries of others under the names that are needed.
func checkFree(into *clientcmdapi.Config, name string, context *clientcmdapi.Context, from *clientcmdapi.Config, owner Owner) error {
	var taken []error
	report := func(kind, name string) { taken = append(taken, fmt.Errorf("%s %s %w", kind, name, ErrOther)) }
	if there := into.Clusters[context.Cluster]; there != nil && !isOurs(there, owner) && !same(there, from.Clusters[context.Cluster]) {
		report("cluster", context.Cluster)
	}
	if there := into.AuthInfos[context.AuthInfo]; there != nil && !isOurs(there, owner) && !same(there, from.AuthInfos[context.AuthInfo]) {
		report("user", context.AuthInfo)
	}
	if there := into.Contexts[name]; there != nil && !isOurs(there, owner) && (there.Cluster != context.Cluster || there.AuthInfo != context.AuthInfo) {
		report("context", name)
	}
	return errors.Join(taken...)
}

// entry is one of the three kinds of entries.
type entry interface {
	*clientcmdapi.Cluster | *clientcmdapi.AuthInfo | *clientcmdapi.Context
}

// same reports whether two entries have the same content, regardless of their origin.
func same[T entry](a, b T) bool {
	first, second := plain(a), plain(b)
	return reflect.DeepEqual(first, second)
}

// plain returns a copy of an entry without its origin and its extensions.
func plain(one any) any {
	switch one := one.(type) {
	case *clientcmdapi.Cluster:
		copied := one.DeepCopy()
		copied.LocationOfOrigin, copied.Extensions = "", nil
		return copied
	case *clientcmdapi.AuthInfo:
		copied := one.DeepCopy()
		copied.LocationOfOrigin, copied.Extensions = "", nil
		return copied
	default:
		return one
	}
}

// extensionsOf returns those of an entry.
func extensionsOf(one any) *map[string]runtime.Object {
	switch one := one.(type) {
	case *clientcmdapi.Cluster:
		return &one.Extensions
	case *clientcmdapi.AuthInfo:
		return &one.Extensions
	case *clientcmdapi.Context:
		return &one.Extensions
	default:
		return nil
	}
}

// put adds a marked entry.
func put[T entry](entries map[string]T, name string, one T, with mark) {
	text, err := json.Marshal(with)
	if err != nil {
		panic(err) // it has only texts
	}
	extensions := extensionsOf(one)
	*extensions = map[string]runtime.Object{extension: &runtime.Unknown{Raw: text, ContentType: runtime.ContentTypeJSON}}
	entries[name] = one
}

// isOurs reports whether an entry was put in for a stack.
func isOurs[T entry](one T, owner Owner) bool {
	if one == nil {
		return false
	}
	found, isMarked := markOf(one)
	return isMarked && found.Owner == owner
}

// markOf returns the mark of an entry.
func markOf(one any) (found mark, isMarked bool) {
	unknown, isUnknown := (*extensionsOf(one))[extension].(*runtime.Unknown)
	if !isUnknown {
		return found, false
	}
	decoder := json.NewDecoder(bytes.NewReader(unknown.Raw))
	return found, decoder.Decode(&found) == nil
}
