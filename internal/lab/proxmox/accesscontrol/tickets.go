package accesscontrol

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/em-infra/em-infra/internal/lab/proxmox/access"
	"github.com/em-infra/em-infra/internal/lab/proxmox/api"
	"github.com/em-infra/em-infra/internal/lab/proxmox/schema"
)

const (
	ticketEndpoint = "/access/ticket"
	// ticketLife is the validity of a ticket, and ticketGrace the tolerance for a clock that is ahead (AccessControl.pm,
	// ticket_lifetime and auth_graceperiod).
	ticketLife  = 2 * time.Hour
	ticketGrace = 5 * time.Minute
)

var (
	errTicket = errors.New("permission denied - invalid PVE ticket")
	errCSRF   = &api.StatusError{Status: http.StatusUnauthorized, Message: "Permission denied - invalid csrf token"}
	errLogin  = &api.StatusError{Status: http.StatusUnauthorized, Message: "authentication failure"}
	// ticketForm is "PVE:USER:TIME::SIGNATURE", and csrfForm "TIME:SIGNATURE" (pve-common Ticket.pm).
	ticketForm = regexp.MustCompile(`^PVE:(\S+):([A-Z0-9]{8})::([^:\s]+)$`)
	csrfForm   = regexp.MustCompile(`^([A-Z0-9]{8}):(\S+)$`)
)

// signature returns the signature of a text. A real host signs with its key; the lab's key ends with its process.
func (s *Service) signature(purpose, text string) string {
	mac := hmac.New(sha256.New, s.ticketKey)
	mac.Write([]byte(purpose + "\x00" + text))

	return base64.RawStdEncoding.EncodeToString(mac.Sum(nil))
}

func (s *Service) stamp() string { return fmt.Sprintf("%08X", s.env.Now().Unix()) }

func (s *Service) newTicket(user string) string {
	plain := "PVE:" + strings.ReplaceAll(user, ":", "%3A") + ":" + s.stamp()
	return plain + "::" + s.signature("ticket", plain)
}

func (s *Service) newCSRFToken(user string) string {
	stamp := s.stamp()
	return stamp + ":" + s.signature("csrf", stamp+":"+user)
}

// isFresh reports whether a time stamp is within the validity of a ticket.
func (s *Service) isFresh(stamp string) bool {
	seconds, err := strconv.ParseInt(stamp, 16, 64)
	age := s.env.Now().Sub(time.Unix(seconds, 0))

	return err == nil && age > -ticketGrace && age < ticketLife
}

// verifyTicket returns the user of a ticket (AccessControl.pm, verify_ticket).
func (s *Service) verifyTicket(ticket string) (string, error) {
	parts := ticketForm.FindStringSubmatch(ticket)
	if parts == nil || !s.isFresh(parts[2]) {
		return "", errTicket
	}

	plain, _, _ := strings.Cut(ticket, "::")
	if !hmac.Equal([]byte(parts[3]), []byte(s.signature("ticket", plain))) {
		return "", errTicket
	}

	return strings.ReplaceAll(parts[1], "%3A", ":"), nil
}

func (s *Service) verifyCSRFToken(user, token string) error {
	parts := csrfForm.FindStringSubmatch(token)
	if parts == nil || !s.isFresh(parts[1]) || !hmac.Equal([]byte(parts[2]), []byte(s.signature("csrf", parts[1]+":"+user))) {
		return errCSRF
	}

	return nil
}

// ticketOf returns the ticket in a request's cookie or Authorization header (pve-http-server Formatter.pm,
// extract_auth_value).
func ticketOf(r *http.Request) string {
	for _, header := range []string{"Cookie", "Authorization"} {
		match := ticketHeader.FindStringSubmatch(r.Header.Get(header))
		if match == nil {
			continue
		}

		if ticket, err := url.PathUnescape(match[1]); err == nil {
			return ticket
		}
	}

	return ""
}

var ticketHeader = regexp.MustCompile(`(?:^|\s)PVEAuthCookie(?:=| )"?([^";]*)`)

// byTicket authenticates a session by its ticket. A request that changes something also needs the CSRF token, except for
// uploads (pve-manager HTTPServer.pm, auth_handler).
func (s *Service) byTicket(r *http.Request, path, ticket string) (string, error) {
	user, err := s.verifyTicket(ticket)
	if err == nil {
		err = s.db.CheckEnabled(user, s.env.Now())
	}

	if err != nil {
		s.env.Note("authentication failure", err)
		return "", ErrAuthentication
	}

	if r.Method == http.MethodGet || api.IsUpload(r.Method, path) {
		return user, nil
	}

	return user, s.verifyCSRFToken(user, r.Header.Get("CSRFPreventionToken"))
}

// session is the response to a login.
type session struct {
	Username    string                    `json:"username"`
	Ticket      string                    `json:"ticket,omitempty"`
	CSRF        string                    `json:"CSRFPreventionToken,omitempty"`
	ClusterName string                    `json:"clustername,omitempty"`
	Rights      map[string]map[string]int `json:"cap"`
}

// createTicket handles POST /access/ticket. For a password, or an existing ticket in its place, it returns a new ticket; with
// a path it checks the user's privileges there (pve-access-control API2/AccessControl.pm, create_ticket). The error never
// contains the reason.
func (s *Service) createTicket(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	user := c.Params.Get("username")
	if realm := c.Params.Get("realm"); realm != "" {
		user += "@" + realm
	}

	if err := s.enter(user, c.Params.Get("password")); err != nil {
		s.env.Note("authentication failure", err)
		return nil, errLogin
	}

	db := s.db
	opened := session{Username: user, Rights: rightsOf(db, user)}

	if path := c.Params.Get("path"); path == "" {
		opened.Ticket, opened.CSRF = s.newTicket(user), s.newCSRFToken(user)
	} else if err := db.Check(user, path, false, c.Params.List("privs")...); err != nil {
		return nil, errLogin
	}

	if len(s.env.Nodes.Hosts()) > 1 && db.Allowed(user, "/", "Sys.Audit") {
		opened.ClusterName = "lab"
	}

	return opened, nil
}

func (s *Service) enter(user, password string) error {
	if owner, err := s.verifyTicket(password); err == nil && owner == user {
		return s.db.CheckEnabled(user, s.env.Now())
	}

	return s.db.Enter(user, password, s.env.Now())
}

// rightPrefixes are the privileges in each section of a login's response (RPCEnvironment.pm, compute_api_permission).
var rightPrefixes = map[string][]string{
	"vms": {"VM.", "Permissions.Modify"}, "access": {"User.", "Group.", "Permissions.Modify"},
	"storage": {"Datastore.", "Permissions.Modify"}, "nodes": {"Sys.", "Permissions.Modify"},
	"sdn": {"SDN.", "Permissions.Modify"}, "dc": {"Sys.Audit", "Sys.Modify", "SDN."},
	"mapping": {"Mapping.", "Permissions.Modify"},
}

// rightsOf returns what a user may do on any path, by section.
func rightsOf(db *access.Database, user string) map[string]map[string]int {
	rights := map[string]map[string]int{}
	for heading := range rightPrefixes {
		rights[heading] = map[string]int{}
	}

	paths := []string{"/", "/nodes", "/access/groups", "/vms", "/storage", "/sdn", "/mapping"}
	for _, grant := range db.Grants {
		paths = append(paths, grant.Path)
	}

	for _, path := range paths {
		heading, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
		if heading == "" {
			heading = "dc"
		}

		for name := range db.Permissions(user, path) {
			addRight(rights, heading, name)
		}
	}

	return rights
}

func addRight(rights map[string]map[string]int, heading, name string) {
	begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }

	if heading != "pool" {
		if slices.ContainsFunc(rightPrefixes[heading], begins) {
			rights[heading][name] = 1
		}

		return
	}

	if begins("VM.") || name == "Permissions.Modify" {
		rights["vms"][name] = 1
	}

	if begins("Datastore.") || name == "Permissions.Modify" {
		rights["storage"][name] = 1
	}
}

// changePassword handles PUT /access/password. A user other than root confirms with their own password, and cannot change
// users of the operating system (API2/AccessControl.pm, change_password; RPCEnvironment.pm,
// reauth_user_for_user_modification).
func (s *Service) changePassword(c *api.Call) (any, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	db, name := s.db, c.Params.Get("userid")

	user, err := db.User(name)
	if err != nil {
		return nil, err
	}

	if c.Identity != access.Root {
		if err := s.confirm(c, name); err != nil {
			return nil, err
		}
	}

	if err := user.SetPassword(name, c.Params.Get("password")); err != nil {
		return nil, err
	}

	s.env.Changed()

	return nil, nil
}

// confirm authenticates the caller again before a change of a password.
func (s *Service) confirm(c *api.Call, name string) error {
	switch {
	case strings.HasSuffix(name, "@pam") && name != c.Identity:
		return &access.Refusal{}
	case !c.Params.Has("confirmation-password"):
		return schema.BadParam("confirmation-password", "password is required to modify user")
	case s.db.Enter(c.Identity, c.Params.Get("confirmation-password"), s.env.Now()) != nil:
		return errLogin
	default:
		return nil
	}
}

func (s *Service) ticketMethods() []api.Method {
	return []api.Method{
		api.Get(ticketEndpoint, s.getTicket),
		api.Post(ticketEndpoint, s.createTicket),
		api.Put("/access/password", s.changePassword),
	}
}
