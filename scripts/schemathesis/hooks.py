"""What schemathesis can't know of hark's API: what a sound file is. Random bytes would try nothing but one refusal."""

import io
import math
import re
import struct
import wave

import schemathesis
from hypothesis import strategies as st
from schemathesis.specs.openapi.checks import negative_data_rejection


def tone(seconds, rate, channels, hertz):
    """A WAV file of a swelling tone."""
    frames = bytearray()
    for i in range(int(seconds * rate)):
        swell = math.sin(math.pi * 4 * i / rate) ** 2
        sample = int(9000 * swell * math.sin(2 * math.pi * hertz * i / rate))
        frames += struct.pack("<h", sample) * channels
    out = io.BytesIO()
    with wave.open(out, "wb") as w:
        w.setparams((channels, 2, rate, 0, "NONE", ""))
        w.writeframes(bytes(frames))
    return out.getvalue()


SOUNDS = [tone(0.3, 16000, 1, 440), tone(0.5, 8000, 2, 200), tone(0.1, 44100, 1, 1000)]

schemathesis.openapi.format("binary", st.sampled_from(SOUNDS))
schemathesis.openapi.media_type("application/octet-stream", st.sampled_from(SOUNDS))


# Forms, URLs and headers know no types: 1 and 0 stand for true and false there, digits for a number, and a field that is sent empty
# for one that is not sent. A schema says none of it.
LENIENT = re.compile(r"(?i)[tf]?|\d+")


@schemathesis.check
def refuses_what_is_wrong(ctx, response, case):
    """negative_data_rejection, but for what is taken on purpose."""
    parts = [case.query, case.body, case.headers]
    values = [v for part in parts if hasattr(part, "values") for field in part.values() for v in (field if isinstance(field, list) else [field])]
    if response.status_code == 426:  # no WebSocket is a refusal like any other
        return None
    if any(not isinstance(v, (bool, bytes)) and LENIENT.fullmatch(str(v).strip()) for v in values):
        return None
    return negative_data_rejection(ctx, response, case)
