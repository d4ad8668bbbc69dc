package api

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/journal"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// answer handles a request in the order of Proxmox VE: authentication, method, permissions, parameters, and then the work
// (AnyEvent.pm, authenticate_and_handle_request; HTTPServer.pm, rest_handler).
func (f *Front) answer(r *http.Request, entry *journal.Entry) *answer {
	path, err := relativePath(r.URL)
	if err != nil {
		return failure(err)
	}

	entry.Path = path

	identity, err := f.access.Authenticate(r, path)
	if err != nil {
		return &answer{status: http.StatusUnauthorized, message: err.Error(), plain: true, delay: pace.LoginDelay}
	}

	entry.Identity = identity

	params, upload, err := readRequest(r, path)
	if err != nil {
		return failure(err)
	}

	found, fromPath := f.router.find(r.Method, path)
	if found == nil {
		entry.Unknown = true
		message := fmt.Sprintf("Method '%s %s' not implemented", r.Method, path)

		return &answer{status: http.StatusNotImplemented, message: message}
	}

	c := newCall(r.Context(), identity, upload, fromPath)
	entry.Endpoint, entry.Node, entry.VMID, entry.Creates = found.Path, c.Node, c.VMID, creates(found, params)

	data, err := f.serve(c, found, params, fromPath, entry)

	switch {
	case errors.Is(err, ErrPowerCut):
		f.powerCut()
		return &answer{message: err.Error(), lost: true}
	case err != nil:
		return failure(err)
	}

	lost := f.faults.Lost(*entry)
	entry.Fault = entry.Fault || lost

	return &answer{status: http.StatusOK, data: data, total: c.Total, changes: c.Changes, lost: lost}
}

// serve checks the parameters of a request and calls its method.
func (f *Front) serve(c *Call, m *Method, params schema.Params, fromPath map[string]string, entry *journal.Entry) (any, error) {
	method, _ := f.schema.Method(m.Verb, m.Path)

	merged, err := mergePath(params, fromPath)
	if err != nil {
		return nil, err
	}

	if err := f.faults.Call(c.Ctx, *entry); err != nil {
		entry.Fault = true
		return nil, f.wordRefusal(err, method.Permissions, merged)
	}

	if strings.Contains(c.Identity, "!") && !method.TokenAllowed() {
		detail := fmt.Sprintf("URI '%s' not available with API token, need proper ticket.\n", entry.Path)
		return nil, &access.Refusal{Detail: detail}
	}

	if err := f.access.Evaluate(method.Permissions, c.Identity, merged); err != nil {
		return nil, err
	}

	if err := f.reach(c.Node); err != nil {
		return nil, err
	}

	if c.Params, err = method.Verify(merged); err != nil {
		return nil, err
	}

	return m.serve(c)
}

// The methods that create a VM.
const (
	createEndpoint = "/nodes/{node}/qemu"
	cloneEndpoint  = "/nodes/{node}/qemu/{vmid}/clone"
)

// creates returns the VMID that a request creates, 0 for none.
func creates(m *Method, params schema.Params) int {
	name := ""

	switch {
	case m.Verb != http.MethodPost:
	case m.Path == createEndpoint:
		name = "vmid"
	case m.Path == cloneEndpoint:
		name = "newid"
	}

	vmid, err := strconv.Atoi(params.Get(name))
	if err != nil {
		return 0
	}

	return vmid
}

// wordRefusal adds a privilege to a refusal by a fault: the first one that a caller without privileges would lack.
func (f *Front) wordRefusal(err error, rule schema.Rule, params schema.Params) error {
	if !errors.Is(err, access.ErrPermission) {
		return err
	}

	return cmp.Or(f.access.Evaluate(rule, "nobody@pve", params), err)
}

// reach returns an error for an unknown node: Proxmox VE would forward the request, and the name does not resolve
// (pve-cluster Cluster.pm, remote_node_ip).
func (f *Front) reach(node string) error {
	if node == "" || node == "localhost" {
		return nil
	}

	if f.nodes.Has(node) {
		return nil
	}

	return fmt.Errorf("hostname lookup '%s' failed - failed to get address info for: %s: Name or service not known",
		node, node)
}
