package api

import (
	"context"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

// Call is an authorized request with verified parameters.
type Call struct {
	Ctx context.Context
	// Identity is the caller: root@pam, USER@REALM or USER@REALM!TOKEN.
	Identity string
	Params   schema.Params
	// Node and VMID are those of the path, if it has them.
	Node string
	VMID int
	// Total is set by handlers that return part of a list.
	Total *int
	// Changes is set by the handler of a node's network: what is staged, as a diff.
	Changes string
	// Upload is the size of the file in a multipart body. The fields of the body are in Params.
	Upload uint64
}

// apiPath matches the part of the URL that belongs to the API, and its format (AnyEvent.pm, split_abs_uri).
var apiPath = regexp.MustCompile(`^/api2/+([a-z][a-z0-9]+)(/.*)?$`)

func relativePath(u *url.URL) (string, error) {
	if !strings.HasPrefix(u.Path, "/api2") {
		return "", &StatusError{
			Status: http.StatusInternalServerError, Message: fmt.Sprintf("no such file '%s'", u.Path), Plain: true,
		}
	}

	match := apiPath.FindStringSubmatch(u.Path)
	if match == nil {
		return "", &StatusError{Status: http.StatusNotImplemented, Message: "no such uri", Plain: true}
	}

	path := match[2]
	if path == "" {
		path = "/"
	}

	if match[1] != "json" {
		message := fmt.Sprintf("no formatter for uri %s, %s", path, match[1])
		return "", &StatusError{Status: http.StatusNotImplemented, Message: message, Plain: true}
	}

	return path, nil
}

// mostPosted limits a request's body, in bytes (AnyEvent.pm, limit_max_post).
const mostPosted = 512 * 1024

// readParams reads the parameters of the query and of a form or JSON body (AnyEvent.pm, extract_params).
func readParams(r *http.Request) (schema.Params, error) {
	params := schema.Params{}
	hasBody := r.Method == http.MethodPost || r.Method == http.MethodPut

	switch {
	case len(r.TransferEncoding) > 0:
		return nil, &StatusError{
			Status: http.StatusNotImplemented, Message: "chunked transfer encoding not supported", Plain: true,
		}
	case r.ContentLength > 0 && !hasBody:
		message := fmt.Sprintf("Unexpected content for method '%s'", r.Method)
		return nil, &StatusError{Status: http.StatusNotImplemented, Message: message, Plain: true}
	case r.ContentLength > mostPosted:
		return nil, &StatusError{Status: http.StatusNotImplemented, Message: "for data too large", Plain: true}
	case r.ContentLength > 0:
		read, err := readBody(r)
		if err != nil {
			return nil, err
		}

		params = read
	}

	for name, value := range schema.DecodeForm(r.URL.RawQuery) {
		params[name] = value
	}

	delete(params, "_dc")

	return params, nil
}

const (
	statusUnknownContent = 506
	formType             = "application/x-www-form-urlencoded"
	jsonType             = "application/json"
)

func readBody(r *http.Request) (schema.Params, error) {
	header := r.Header.Get("Content-Type")

	kind, _, err := mime.ParseMediaType(header)
	if header != "" && (err != nil || kind != formType && kind != jsonType) {
		message := fmt.Sprintf("upload 'Content-Type '%s' not implemented", header)
		return nil, &StatusError{Status: statusUnknownContent, Message: message, Plain: true}
	}

	raw, err := io.ReadAll(io.LimitReader(r.Body, mostPosted))
	if err != nil {
		return nil, fmt.Errorf("read the request: %w", err)
	}

	if kind == jsonType {
		return schema.DecodeJSON(raw)
	}

	return schema.DecodeForm(string(raw)), nil
}

// readRequest reads the parameters, and the size of an uploaded file.
func readRequest(r *http.Request, path string) (schema.Params, uint64, error) {
	if IsUpload(r.Method, path) {
		return readUpload(r)
	}

	params, err := readParams(r)

	return params, 0, err
}

// mergePath adds the parameters of the path. A parameter may occur elsewhere only with the same value.
func mergePath(params schema.Params, fromPath map[string]string) (schema.Params, error) {
	merged := schema.Params{}

	for name, value := range fromPath {
		merged[name] = schema.Scalar(value)
	}

	problems := map[string]string{}

	for name, value := range params {
		if own, ok := fromPath[name]; ok && (len(value.Items) != 1 || value.Items[0] != own) {
			problems[name] = "duplicate parameter (already defined in URI) with conflicting values!"
		}

		merged[name] = value
	}

	if len(problems) > 0 {
		return nil, &schema.ParamError{Errors: problems}
	}

	return merged, nil
}

// newCall returns a call without parameters, with the node and VM of the path.
func newCall(ctx context.Context, identity string, upload uint64, fromPath map[string]string) *Call {
	c := &Call{Ctx: ctx, Identity: identity, Upload: upload, Node: fromPath["node"]}

	if vmid, err := strconv.Atoi(fromPath["vmid"]); err == nil {
		c.VMID = vmid
	}

	return c
}
