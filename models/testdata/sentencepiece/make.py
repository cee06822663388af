"""Trains unigram.model and bytes.model, and writes what SentencePiece 0.2.0 makes of some texts, results.json.

usage: python3 make.py FOLDER_WITH_A_TOKENIZER.MODEL (that of ../../../testdata/parakeet-tiny, taken out of its archive)
"""
import glob, io, json, random, sys
import sentencepiece as spm

WORDS = """the light in kitchen turn on off please set fan to seven eight nine three radio garden door open close
my number is zero one two naïve café über straße señor façade weather today tomorrow morning evening quick brown fox
jumps over lazy dog while we wait for her, Robert! Is Maria at home? No. It's 20 % cheaper: half-price / free""".split()
random.seed(7)
lines = [" ".join(random.choice(WORDS) for _ in range(random.randint(2, 12))) for _ in range(400)]


def train(name, **options):
    out = io.BytesIO()
    spm.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=out, hard_vocab_limit=False, minloglevel=2,
                                   normalization_rule_name="identity", **options)
    open(name, "wb").write(out.getvalue())


train("unigram.model", vocab_size=150, model_type="unigram", control_symbols=["<pad>"], user_defined_symbols=["<|en|>"])
train("bytes.model", vocab_size=420, model_type="bpe", byte_fallback=True)

texts = ["", " ", "one", "turn on the radio", "Set the light to seven.", " a  b ", "é", "Turn off the light in the garden, please!",
         "naïve café, über die straße", "日本 one Ω", "ｆｕｌｌ width ① ﬁ", "a\tb\nc", "zzz ééé Ω one", "one ▁ two", "<unk>", "<pad><|en|>",
         "ÀÉ e\u0301 ｶﾞ", "\u00a0x\u200by", "the the the", "It's 20 % cheaper: half-price / free", "ffffff", "…", "\ufffd"]
texts += [line for line in lines[:12]] + ["".join(random.sample(line, len(line))) for line in lines[12:30]]
results = {}
for name in ("unigram.model", "bytes.model", "tiny"):
    sp = spm.SentencePieceProcessor(model_file=glob.glob(sys.argv[1] + "/*tokenizer.model")[0] if name == "tiny" else name)
    results[name] = [{"text": t, "ids": sp.encode(t), "decoded": sp.decode(sp.encode(t))} for t in texts]
with open("results.json", "w") as out:
    rows = [f" {json.dumps(n)}: [\n" + ",\n".join("  " + json.dumps(r, ensure_ascii=False) for r in rs) + "\n ]" for n, rs in results.items()]
    out.write("{\n" + ",\n".join(rows) + "\n}\n")
