package proxmox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/lab/pace"
	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// answer is the way of a request through the server, in the order of Proxmox VE: who asks, what for, may they, is it
// well formed, and only then the work (AnyEvent.pm, authenticate_and_handle_request; HTTPServer.pm, rest_handler).
func (s *Server) answer(r *http.Request, entry *Call) *answer {
	path, err := relativePath(r.URL)
	if err != nil {
		return failure(err)
	}

	entry.Path = path

	identity, err := s.authenticate(r, path)
	if err != nil {
		return &answer{status: http.StatusUnauthorized, message: err.Error(), plain: true, delay: pace.LoginDelay}
	}

	entry.Identity = identity

	params, upload, err := readRequest(r, path)
	if err != nil {
		return failure(err)
	}

	found, fromPath := s.router.find(r.Method, path)
	if found == nil || !found.known(s.config.Release) {
		entry.Unknown = true
		message := fmt.Sprintf("Method '%s %s' not implemented", r.Method, path)

		return &answer{status: http.StatusNotImplemented, message: message}
	}

	c := newCall(r.Context(), identity, upload, fromPath)
	entry.Endpoint, entry.Node, entry.VMID, entry.Creates = found.Path, c.node, c.vmid, creates(found, params)

	data, err := s.serve(c, found, params, fromPath, entry)

	switch {
	case errors.Is(err, errPowerCut):
		s.cutPowerLater()
		return &answer{message: err.Error(), lost: true}
	case err != nil:
		return failure(err)
	}

	lost := s.config.Faults.Lost(*entry)
	entry.Fault = entry.Fault || lost

	return &answer{status: http.StatusOK, data: data, total: c.total, lost: lost}
}

// serve checks a request that has found its method, and does it.
func (s *Server) serve(c *call, r *row, params schema.Params, fromPath map[string]string, entry *Call) (any, error) {
	method, _ := s.schema.Method(r.Verb, r.Path)

	merged, err := mergePath(params, fromPath)
	if err != nil {
		return nil, err
	}

	if err := s.config.Faults.Call(c.ctx, *entry); err != nil {
		entry.Fault = true
		return nil, s.wordRefusal(err, method.Permissions, merged)
	}

	if strings.Contains(c.identity, "!") && !method.TokenAllowed() {
		detail := fmt.Sprintf("URI '%s' not available with API token, need proper ticket.\n", entry.Path)
		return nil, &access.Refusal{Detail: detail}
	}

	if err := s.permit(method.Permissions, c.identity, merged); err != nil {
		return nil, err
	}

	if err := s.reach(c.node); err != nil {
		return nil, err
	}

	if c.params, err = method.Verify(merged); err != nil {
		return nil, err
	}

	return r.serve(s, c)
}

// creates is the VMID that a request asks for, 0 for one that makes no VM.
func creates(r *row, params schema.Params) int {
	name := ""

	switch {
	case r.Verb != http.MethodPost:
	case r.Path == listEndpoint:
		name = "vmid"
	case r.Path == cloneEndpoint:
		name = "newid"
	}

	vmid, err := strconv.Atoi(params.Get(name))
	if err != nil {
		return 0
	}

	return vmid
}

// wordRefusal puts the privilege into a refusal that a fault asks for: the one that a caller without any would miss.
func (s *Server) wordRefusal(err error, rule schema.Rule, params schema.Params) error {
	if !errors.Is(err, access.ErrPermission) {
		return err
	}

	return cmp.Or(s.permit(rule, "nobody@pve", params), err)
}

func (s *Server) permit(rule schema.Rule, identity string, params schema.Params) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.state.Access.Evaluate(rule, identity, params)
}

// reach fails for a node that the cluster does not have: the request would be passed on to it, and its name does not
// resolve (pve-cluster Cluster.pm, remote_node_ip).
func (s *Server) reach(node string) error {
	if node == "" || node == "localhost" {
		return nil
	}

	if _, ok := s.host(node); ok {
		return nil
	}

	return fmt.Errorf("hostname lookup '%s' failed - failed to get address info for: %s: Name or service not known",
		node, node)
}

// wait spends an assumed duration of the host.
func (s *Server) wait(ctx context.Context, d time.Duration) error { return s.config.Pace.Sleep(ctx, d) }
