package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/go-chi/chi/v5"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// apiDocument is the served document with its schemas.
type apiDocument struct {
	root     map[string]any
	compiler *jsonschema.Compiler
}

const documentURL = "hark:openapi.json"

// readDocument gets the document from a server. Its schemas are made to refuse whatever they don't name.
func readDocument(t *testing.T, ts *testServer) *apiDocument {
	t.Helper()
	a := ts.get(t, "/openapi.json")
	if a.status != 200 || a.header.Get("Content-Type") != "application/json" {
		t.Fatalf("status %d", a.status)
	}
	root, err := jsonschema.UnmarshalJSON(strings.NewReader(a.body))
	if err != nil {
		t.Fatal(err)
	}
	closeObjects(root)
	d := &apiDocument{root.(map[string]any), jsonschema.NewCompiler()}
	d.compiler.DefaultDraft(jsonschema.Draft2020)
	if err := d.compiler.AddResource(documentURL, root); err != nil {
		t.Fatal(err)
	}
	return d
}

// closeObjects has every schema of an object refuse what it doesn't name.
func closeObjects(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["properties"]; ok && v["type"] == "object" && v["additionalProperties"] == nil {
			v["additionalProperties"] = false
		}
		for _, member := range v {
			closeObjects(member)
		}
	case []any:
		for _, member := range v {
			closeObjects(member)
		}
	}
}

// at follows keys from the root, and references.
func (d *apiDocument) at(t *testing.T, keys ...string) map[string]any {
	t.Helper()
	var v any = d.root
	for _, key := range keys {
		v = d.resolve(t, v)[key]
	}
	return d.resolve(t, v)
}

func (d *apiDocument) resolve(t *testing.T, v any) map[string]any {
	t.Helper()
	m, ok := v.(map[string]any)
	if !ok {
		t.Fatalf("got %v, want an object", v)
	}
	if ref, ok := m["$ref"].(string); ok {
		return d.at(t, strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
	}
	return m
}

// check holds an answer to what the document says of an operation.
func (d *apiDocument) check(t *testing.T, method, path string, a *answer) {
	t.Helper()
	responses := d.at(t, "paths", path, strings.ToLower(method), "responses")
	code := fmt.Sprint(a.status)
	if responses[code] == nil {
		code = code[:1] + "XX"
	}
	if responses[code] == nil {
		t.Errorf("%s %s: status %d is not documented: %s", method, path, a.status, a.body)
		return
	}
	content := d.resolve(t, d.resolve(t, responses[code])["content"])
	mediaType, _, err := mime.ParseMediaType(a.header.Get("Content-Type"))
	if err != nil || content[mediaType] == nil {
		t.Errorf("%s %s: content type %q of status %d is not documented", method, path, a.header.Get("Content-Type"), a.status)
		return
	}
	if mediaType == "text/event-stream" {
		schema := content[mediaType].(map[string]any)["schema"].(map[string]any)
		if whole, ok := d.resolve(t, schema)["properties"].(map[string]any); ok { // of events, not of their data
			schema = d.resolve(t, whole["data"])["contentSchema"].(map[string]any)
		}
		d.checkEvents(t, path, schema["$ref"].(string), a)
	}
	if mediaType != "application/json" {
		return
	}
	pointer := func(keys ...string) string {
		for i, key := range keys {
			keys[i] = strings.NewReplacer("~", "~0", "/", "~1", "{", "%7B", "}", "%7D").Replace(key)
		}
		return documentURL + "#/" + strings.Join(keys, "/")
	}
	at := pointer("paths", path, strings.ToLower(method), "responses", code, "content", mediaType, "schema")
	if ref, ok := responses[code].(map[string]any)["$ref"].(string); ok {
		at = documentURL + ref + "/content/application~1json/schema"
	}
	schema, err := d.compiler.Compile(at)
	if err != nil {
		t.Fatal(err)
	}
	body, err := jsonschema.UnmarshalJSON(strings.NewReader(a.body))
	if err != nil {
		t.Errorf("%s %s: %v: %s", method, path, err, a.body)
		return
	}
	if err := schema.Validate(body); err != nil {
		t.Errorf("%s %s: status %d: %v\n%s", method, path, a.status, err, a.body)
	}
}

// checkEvents holds the events of a stream to their schema.
func (d *apiDocument) checkEvents(t *testing.T, path, ref string, a *answer) {
	t.Helper()
	schema, err := d.compiler.Compile(documentURL + ref)
	if err != nil {
		t.Fatal(err)
	}
	events := readEvents(t, strings.NewReader(a.body), 1<<30).events
	for _, e := range events {
		if err := schema.Validate(map[string]any(e)); err != nil {
			t.Errorf("%s: an event: %v\n%v", path, err, e)
		}
	}
	if len(events) == 0 {
		t.Errorf("%s: no events", path)
	}
}

// TestDocumentedRoutes: the router's table and the document name the same.
func TestDocumentedRoutes(t *testing.T) {
	ts := newTestServer(t, nil)
	d := readDocument(t, ts)
	var served []string
	err := chi.Walk(ts.Handler().(chi.Routes), func(method, route string, _ http.Handler, _ ...func(http.Handler) http.Handler) error {
		served = append(served, method+" "+strings.Replace(route, "/v1/models/*", "/v1/models/{model}", 1))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for path := range d.at(t, "paths") {
		for method := range d.at(t, "paths", path) {
			documented = append(documented, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(served)
	slices.Sort(documented)
	if !slices.Equal(served, documented) {
		t.Errorf("served\n%s\ndocumented in openapi/openapi.yaml\n%s", strings.Join(served, "\n"), strings.Join(documented, "\n"))
	}
}

// TestDocumentCompiles: every reference leads somewhere, every schema is one, every operation has a name of its own.
func TestDocumentCompiles(t *testing.T) {
	d := readDocument(t, newTestServer(t, nil))
	for name := range d.at(t, "components", "schemas") {
		if _, err := d.compiler.Compile(documentURL + "#/components/schemas/" + name); err != nil {
			t.Error(err)
		}
	}
	var walk func(v any)
	walk = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if v["$ref"] != nil {
				d.resolve(t, v)
			}
			for _, member := range v {
				walk(member)
			}
		case []any:
			for _, member := range v {
				walk(member)
			}
		}
	}
	walk(d.root)
	seen := map[any]bool{}
	for path := range d.at(t, "paths") {
		for method := range d.at(t, "paths", path) {
			id := d.at(t, "paths", path, method)["operationId"]
			if id == nil || seen[id] {
				t.Errorf("%s %s: operationId %v is missing or taken", method, path, id)
			}
			seen[id] = true
		}
	}
}

// TestDocumentedFields: what the server reads and what the document has are the same fields, lists as lists.
func TestDocumentedFields(t *testing.T) {
	d := readDocument(t, newTestServer(t, nil))
	own := map[string]any{}
	for _, p := range d.at(t, "paths", "/v1/transcribe", "post")["parameters"].([]any) {
		p := d.resolve(t, p)
		if p["in"] == "query" {
			own[p["name"].(string)] = p["schema"]
		}
	}
	for form, properties := range map[string]map[string]any{
		"TranscriptionForm": d.at(t, "components", "schemas", "TranscriptionForm", "properties"),
		"TranscribeForm":    d.at(t, "components", "schemas", "TranscribeForm", "properties"),
		"the URL":           own,
	} {
		want := maps.Clone(knownFields)
		if form == "TranscriptionForm" {
			delete(want, "task") // the path says it
		}
		for name, schema := range properties {
			base := strings.TrimSuffix(name, "[]")
			isList := d.resolve(t, schema)["type"] == "array"
			list, ok := want[base]
			switch {
			case name == "file":
			case !ok:
				t.Errorf("%s: nothing reads %s", form, name)
			case list != isList || isList != strings.HasSuffix(name, "[]"):
				t.Errorf("%s: %s is a list: %v, is documented as one: %v", form, name, list, isList)
			}
			delete(want, base)
		}
		if len(want) > 0 {
			t.Errorf("%s of openapi/openapi.yaml lacks %v", form, slices.Sorted(maps.Keys(want)))
		}
	}
	var members []string
	for name := range d.resolve(t, d.at(t, "components", "schemas", "Chunking")["oneOf"].([]any)[1])["properties"].(map[string]any) {
		members = append(members, "chunking_strategy["+name+"]")
	}
	slices.Sort(members)
	if want := slices.Sorted(slices.Values(chunkingMembers)); !slices.Equal(members, want) {
		t.Errorf("chunking_strategy: documented %v, read %v", members, want)
	}
}

// TestDocumentedFieldsOfOthers: of other servers' calls, no field that is documented is unknown or changes nothing.
func TestDocumentedFieldsOfOthers(t *testing.T) {
	ts := newTestServer(t, nil)
	d := readDocument(t, ts)
	value := func(schema map[string]any) string {
		switch {
		case schema["default"] != nil:
			return fmt.Sprint(schema["default"])
		case schema["type"] == "boolean":
			return "true"
		}
		return ""
	}
	clip := speechWAV(1, 1)
	var fields []string
	for name, schema := range d.at(t, "components", "schemas", "InferenceForm", "properties") {
		if name != "file" {
			fields = append(fields, name, value(d.resolve(t, schema)))
		}
	}
	if a := ts.post(t, "/inference", clip, fields...); a.status != 200 || a.header.Get("X-Hark-Warning") != "" {
		t.Errorf("/inference with %v: %d %s %q", fields, a.status, a.body, a.header.Values("X-Hark-Warning"))
	}
	var query []string
	for _, p := range d.at(t, "paths", "/v1/listen", "post")["parameters"].([]any) {
		p := d.resolve(t, p)
		schema := d.resolve(t, p["schema"])
		if schema["maxLength"] == nil { // else it's refused
			query = append(query, p["name"].(string)+"="+value(schema))
		}
	}
	a := ts.request(t, "POST", "/v1/listen?"+strings.Join(query, "&"), "", bytes.NewReader(clip))
	if a.status != 200 || a.header.Get("X-Hark-Warning") != "" {
		t.Errorf("/v1/listen with %v: %d %s %q", query, a.status, a.body, a.header.Values("X-Hark-Warning"))
	}
}

// TestDocumentedAnswers: every kind of answer is as the document says, with nothing besides.
func TestDocumentedAnswers(t *testing.T) {
	ts := newTestServer(t, nil)
	keys := newTestServer(t, withKeys(t, "rpm=1"))
	d := readDocument(t, ts)
	clip, silence := speechWAV(2, 1), silentWAV(1)
	stereo := stereoWAV(speechWAV(2, 1), speechWAV(2, 2))
	post := func(path string, file []byte, fields ...string) {
		t.Helper()
		d.check(t, "POST", path, ts.post(t, path, file, fields...))
	}
	words := []string{"response_format", "verbose_json", "timestamp_granularities[]", "word", "timestamp_granularities[]", "segment"}
	for _, path := range []string{"/v1/audio/transcriptions", "/v1/audio/translations", "/v1/transcribe"} {
		for _, format := range []string{"json", "text", "srt", "vtt", "tsv", "verbose_json", "diarized_json", "docx"} {
			post(path, clip, "model", "fake", "response_format", format)
			post(path, silence, "model", "fake", "response_format", format)
		}
		post(path, clip, append(words, "model", "fake")...)
		post(path, clip, append(words, "model", "fake", "include[]", "logprobs")...)
		post(path, clip, "model", "fake", "include[]", "logprobs", "response_format", "json")
		for _, format := range []string{"json", "verbose_json", "diarized_json", "srt"} {
			post(path, clip, "model", "fake", "include[]", "logprobs", "response_format", format, "stream", "true")
		}
		post(path, stereo, append(words, "model", "fake", "channels", "separate")...)
		post(path, nil, "model", "fake")
		post(path, []byte("this is a text, and no sound at all"), "model", "fake")
		post(path, clip[:20], "model", "fake")
		post(path, clip, "model", "nothing")
		post(path, clip, "model", "fake", "prompt", strings.Repeat("a", maxFieldBytes+1))
		d.check(t, "POST", path, ts.with(t, "POST", path, strings.NewReader("--x"), "Content-Type", "multipart/form-data"))
		d.check(t, "POST", path, keys.post(t, path, clip))
	}
	for _, file := range [][]byte{clip, silence, stereo, nil, []byte("this is a text, and no sound at all")} {
		post("/v1/explain", file)
		d.check(t, "POST", "/v1/explain", ts.request(t, "POST", "/v1/explain?channels=separate", "", bytes.NewReader(file)))
		for _, format := range []string{"json", "text", "srt", "vtt", "verbose_json"} {
			post("/inference", file, "response_format", format)
		}
		post("/inference", file, "response_format", "verbose_json", "diarize", "true")
		for _, query := range []string{"", "utterances=true&detect_language=true&multichannel=true", "punctuate=false", "redact=pci"} {
			d.check(t, "POST", "/v1/listen", ts.request(t, "POST", "/v1/listen?"+query, "", bytes.NewReader(file)))
		}
	}
	for range 2 { // the second one is too many
		d.check(t, "POST", "/v1/transcribe", keys.clip(t, aliceKey))
	}
	ts.model.set(func(m *fakeModel) { m.panics = true })
	for _, path := range []string{"/v1/transcribe", "/inference"} {
		post(path, clip)
	}
	ts.model.set(func(m *fakeModel) { m.panics = false })
	for _, path := range []string{"/v1/models", "/v1/models/{model}", "/v1/queue", "/v1/streams/{id}", "/v1/realtime", "/healthz", "/readyz", "/metrics", "/openapi.json"} {
		for _, server := range []*testServer{ts, newColdServer(t, nil), keys} {
			d.check(t, "GET", path, server.get(t, strings.Replace(path, "{model}", "fake", 1)))
		}
		if path != "/metrics" && path != "/healthz" {
			d.check(t, "GET", path, ts.request(t, "DELETE", path, "", nil))
		}
	}
	d.check(t, "GET", "/v1/models/{model}", ts.get(t, "/v1/models/nothing"))
	hold := make(chan struct{})
	ts.model.set(func(m *fakeModel) { m.hold = hold })
	go ts.transcribe(t, clip)
	eventually(t, "a clip runs", func() bool { return strings.Contains(ts.get(t, "/v1/queue").body, `"position":0`) })
	d.check(t, "GET", "/v1/queue", ts.get(t, "/v1/queue"))
	close(hold)
}

// TestDocumentIsJSON: what was written with aliases is served without, and no helper of the source goes out.
func TestDocumentIsJSON(t *testing.T) {
	if !json.Valid(openAPI()) || bytes.Contains(openAPI(), []byte("x-refusals")) {
		t.Error("not as it is to be served")
	}
	if _, err := parseOpenAPI([]byte("a: [")); err == nil {
		t.Error("a broken document is taken")
	}
}
