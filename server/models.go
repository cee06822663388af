package server

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"

	"hark/engine"
)

// openAIModels are the names of OpenAI's transcription models (its API reference, "Create transcription", model), which
// clients send unasked; they mean the default model unless Config.NoAliases is set.
var openAIModels = []string{
	"whisper-1",
	"gpt-transcribe",
	"gpt-4o-transcribe",
	"gpt-4o-mini-transcribe",
	"gpt-4o-mini-transcribe-2025-12-15",
	"gpt-4o-transcribe-diarize",
	"gpt-live-transcribe", // live only, as the next
	"gpt-realtime-whisper",
}

// resolve finds the served model that a request names; "" means the default.
func (s *Server) resolve(name string) (string, error) {
	switch {
	case name == "":
		return s.cfg.Models[0], nil
	case slices.Contains(s.cfg.Models, name):
		return name, nil
	case name == AutoModel && len(s.cfg.Models) > 1:
		return name, nil
	case !s.cfg.NoAliases && slices.Contains(openAIModels, name):
		return s.cfg.Models[0], nil
	}
	return "", &apiError{status: http.StatusNotFound, code: "model_not_found", param: "model",
		message: "there is no model " + quoted(name) + " here: send one of " + strings.Join(s.cfg.Models, ", ")}
}

// modelObject is a model as OpenAI lists it, with what hark knows beside.
type modelObject struct {
	ID      string     `json:"id"`
	Object  string     `json:"object"`
	Created int64      `json:"created"` // when the server started, in Unix seconds
	OwnedBy string     `json:"owned_by"`
	Hark    modelState `json:"hark"`
}

// modelState tells how a served model stands. What only a loaded model tells is empty until it has been loaded once.
type modelState struct {
	Default    bool     `json:"default"`
	Loaded     bool     `json:"loaded"`
	Family     string   `json:"family,omitempty"`
	Device     string   `json:"device,omitempty"`
	Languages  []string `json:"languages,omitempty"`
	Translates bool     `json:"translates"`
	WordTimes  bool     `json:"word_timestamps"`
	Prompts    bool     `json:"prompt"`
}

// modelObjects describes every served model, the default first, and the pair of two families last.
func (s *Server) modelObjects() []modelObject {
	loaded := map[string]bool{}
	for _, info := range s.models.Loaded() {
		loaded[info.Name] = true
	}
	families := map[string]engine.ModelInfo{}
	list := make([]modelObject, len(s.cfg.Models))
	for i, name := range s.cfg.Models {
		info, _ := s.models.Known(name)
		if _, ok := families[info.Family]; !ok { // the first of each is whom "auto" means
			families[info.Family] = info
		}
		list[i] = modelObject{ID: name, Object: "model", Created: s.started.Unix(), OwnedBy: "hark", Hark: modelState{
			Default: i == 0, Loaded: loaded[name], Family: info.Family, Device: info.Device, Languages: info.Languages,
			Translates: info.Translates, WordTimes: info.WordTimes, Prompts: info.Prompts,
		}}
	}
	quick, ok1 := families["parakeet"]
	careful, ok2 := families["whisper"]
	if ok1 && ok2 {
		list = append(list, modelObject{ID: AutoModel, Object: "model", Created: s.started.Unix(), OwnedBy: "hark", Hark: modelState{
			Loaded: loaded[quick.Name] && loaded[careful.Name], Family: "parakeet, whisper", Device: careful.Device,
			Languages:  careful.Languages,
			Translates: careful.Translates, WordTimes: true, Prompts: true,
		}})
	}
	return list
}

func (s *Server) listModels(w http.ResponseWriter, r *http.Request) {
	s.writeJSON(w, r, http.StatusOK, struct {
		Object string        `json:"object"`
		Data   []modelObject `json:"data"`
	}{"list", s.modelObjects()})
}

// showModel answers for an alias with the model behind it.
func (s *Server) showModel(w http.ResponseWriter, r *http.Request) {
	name := chi.URLParam(r, "*")
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	model, err := s.resolve(name)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	for _, m := range s.modelObjects() {
		if m.ID == model {
			s.writeJSON(w, r, http.StatusOK, m)
			return
		}
	}
	s.fail(w, r, errNoPair) // "auto", which is listed only where there is a pair
}
