"""Text as it is compared: normalised, counted, quoted, escaped; stances recognised."""

from __future__ import annotations

from typing import TYPE_CHECKING

from uncensoring_chinese_models.doors import lazy_door

if TYPE_CHECKING:
    from uncensoring_chinese_models.text.assertion.judge import Assertion, assertion_of
    from uncensoring_chinese_models.text.canned import CannedEnding, canned_at_end
    from uncensoring_chinese_models.text.chinese import (
        Detected,
        fold_script,
        foreign_characters,
        language_of,
    )
    from uncensoring_chinese_models.text.escaping import escape, preview
    from uncensoring_chinese_models.text.json_reply import (
        ReplyForm,
        clean,
        explain,
        read_json_reply,
        shorten,
    )
    from uncensoring_chinese_models.text.key_search import (
        find_keys,
        looks_like_key,
        replace_spans,
    )
    from uncensoring_chinese_models.text.keywords import (
        KeywordReading,
        all_words,
        proper_names,
        rare_words,
        read,
        script_of,
    )
    from uncensoring_chinese_models.text.normalisation import (
        IDEOGRAPH,
        Normalised,
        as_written,
        normalise,
    )
    from uncensoring_chinese_models.text.numbers import (
        CARDINALS,
        HAN_NUMERALS,
        MAX_FIGURE_CHARACTERS,
        MONTH_NAMES,
        MONTHS,
        NUMBER_WORDS,
        SCALE_WORDS,
        day_words,
        han_value,
        spelt_value,
    )
    from uncensoring_chinese_models.text.quotes import (
        Flaw,
        QuoteReading,
        Span,
        adds_content,
        align,
        cuts_word,
        drops_negation,
        hides_negation,
        is_too_short,
        likeness,
        negations,
        read_quote,
        tokens,
    )
    from uncensoring_chinese_models.text.reply_parts import (
        opens_thought,
        reply_in,
        thought_spans,
    )
    from uncensoring_chinese_models.text.spreadsheets import harmless
    from uncensoring_chinese_models.text.stance.classify import (
        Recognised,
        recognise,
    )
    from uncensoring_chinese_models.text.words import most_common_words, singular

__all__ = [
    "CARDINALS",
    "HAN_NUMERALS",
    "IDEOGRAPH",
    "MAX_FIGURE_CHARACTERS",
    "MONTHS",
    "MONTH_NAMES",
    "NUMBER_WORDS",
    "SCALE_WORDS",
    "Assertion",
    "CannedEnding",
    "Detected",
    "Flaw",
    "KeywordReading",
    "Normalised",
    "QuoteReading",
    "Recognised",
    "ReplyForm",
    "Span",
    "adds_content",
    "align",
    "all_words",
    "as_written",
    "assertion_of",
    "canned_at_end",
    "clean",
    "cuts_word",
    "day_words",
    "drops_negation",
    "escape",
    "explain",
    "find_keys",
    "fold_script",
    "foreign_characters",
    "han_value",
    "harmless",
    "hides_negation",
    "is_too_short",
    "language_of",
    "likeness",
    "looks_like_key",
    "most_common_words",
    "negations",
    "normalise",
    "opens_thought",
    "preview",
    "proper_names",
    "rare_words",
    "read",
    "read_json_reply",
    "read_quote",
    "recognise",
    "replace_spans",
    "reply_in",
    "script_of",
    "shorten",
    "singular",
    "spelt_value",
    "thought_spans",
    "tokens",
]

__getattr__ = lazy_door(__name__)
