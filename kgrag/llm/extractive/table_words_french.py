"""How French asks for cells, rows, counts and sums of tables."""

from __future__ import annotations

from types import MappingProxyType

from kgrag.late_patterns import late_regex
from kgrag.llm.extractive.table_vocabulary import TableWords, caseless, labels_meant

__all__ = ["FRENCH"]

_SMALL = (
    r"court\p{L}*|petit\p{L}*|bas(?:se)?s?|lég\p{L}+|ancien\p{L}*|vieux|vieille|lent\p{L}*|faible\p{L}*|tôt|étroit\p{L}*"
    r"|froid\p{L}*|silencieu\p{L}*"
)
"""What is less than others where it is the most."""
FRENCH = TableWords(
    language="fr",
    label_words=labels_meant(
        (
            (r"\b(?:p[èe]s\p{L}+|lourd\p{L}*|lég(?:er|ère)s?)\b", "poids masse"),
            (r"\b(?:coût\p{L}*|ch(?:er|ère)s?|prix|tarifs?)\b", "prix tarif coût"),
            (r"\bgagne(?:nt)?\b", "salaire traitement revenu"),
            (r"\b(?:hauts?|hautes?|bas|basse)\b", "hauteur altitude"),
            (r"\b(?:longs?|longues?|courte?s?)\b", "longueur durée"),
            (r"\b(?:dure(?:nt)?|combien de temps)\b", "durée"),
            (r"\b(?:larges?|étroite?s?)\b", "largeur"),
            (r"\bprofonde?s?\b", "profondeur"),
            (r"\b(?:chaude?s?|froide?s?)\b", "température"),
            (r"\b(?:rapides?|lente?s?)\b", "vitesse"),
            (r"\b(?:bruyante?s?|silencieu\p{L}+)\b", "bruit"),
            (r"\b(?:grande?s?|petite?s?)\b", "taille surface superficie capacité"),
            (r"\b(?:ancien\p{L}*|vieux|vieille|récente?s?)\b", "année date"),
            (r"\b(?:en stock|disponibles?)\b", "stock quantité disponible"),
            (r"\boù\b", "lieu adresse salle ville emplacement rayon site"),
            (r"\bqui\b.*\b(?:responsable|dirige|gère|contacter)\b", "responsable contact gérant"),
            (r"\b(?:enseigne|anime|donne)\b", "formateur animateur enseignant professeur intervenant"),
            (r"\bont lieu\b|\ba lieu\b|\bcommencent?\b", "date jour début"),
            (r"\bdepuis quand\b", "depuis"),
            (r"\b(?:téléphon\p{L}*|appeler|joindre)\b", "téléphone tél portable"),
        )
    ),
    most=caseless(rf"\b(?:l[ea]s?)\s+plus\s+(?!{_SMALL})(?:\p{{L}}+)|\bmaxim(?:um|al\p{{L}}*)\b"),
    least=caseless(rf"\b(?:l[ea]s?)\s+(?:moins\s+\p{{L}}+|plus\s+(?:{_SMALL}))|\bminim(?:um|al\p{{L}}*)\b"),
    which=caseless(r"\bquel(?:le)?s?\s+(?!(?:est|sont|était|étaient)\b)(?P<noun>\p{L}[\p{L}-]*)"),
    who=caseless(r"(?:qui|à qui)\b"),
    how_many=caseless(r"\bcombien (?:de|d['’])\s*(?:nos|ces|vos|mes|les)?"),
    comparisons=MappingProxyType(
        {
            "<=": caseless(r"(?:\bau plus|\bau maximum|\bpas plus de|\bjusqu['’]à)"),
            ">=": caseless(r"(?:\bau moins|\bau minimum|\bà partir de|\bdepuis)"),
            ">": caseless(r"\b(?:plus (?:de|\p{L}+ que)|supérieur\p{L}* à|au-dessus de|au-delà de|dépass\p{L}+|après)"),
            "<": caseless(r"\b(?:moins (?:de|\p{L}+ que)|inférieur\p{L}* à|en dessous de|avant)"),
            "=": caseless(r"\bexactement"),
        }
    ),
    total=caseless(r"\b(?:au total|en tout|totale?|totaux|somme|ensemble)\b"),
    average=caseless(r"\b(?:en moyenne|moyenne?s?)\b"),
    negation=caseless(r"\b(?:ne|pas|sans|sauf|jamais|hormis|aucune?)\b|\bn['’]"),
    until=caseless(r"\bjusqu"),
    vague_words=(
        "a ont est coûte coûtent total totale tout somme ensemble moyenne moyen figurent listés compte comptent trouve "
        "trouvent existe existent contient euros exactement nombre différents proposées vient viennent temps "
        "travaille travaillent émises datées passées établies"
    ),
    row_words="ligne lignes entrée entrées enregistrements tableau table liste fichier",
    people_words="personne personnes gens employé employés collègue collègues collaborateurs",
    listing=caseless(r"\by a-t-il\b|\bil y a\b|\bexistent\b|\b(?:avons|proposons)-nous\b|\b(?:avez|proposez)-vous\b"),
    plural=caseless(r"\bquel(?:le)?s\s+(?!sont\b)"),
    naming="nom produit article titre modèle désignation description type",
    names=late_regex(r"(?<=\s)(?:\p{Lu}[\p{L}\p{M}\p{N}'’./-]*|[\p{L}-]*\p{N}[\p{L}\p{N}.,:/-]*)"),
    asked_thing=caseless(
        r"(?:quel(?:le)?s?|combien) (?:est|sont|était|étaient) (?:l[ea]s? |l['’])?(?P<phrase>.+?)"
        r"(?: (?:du|des|de (?:la\b|l['’]|ce|cette|notre)|pour|en|au|aux|à|dans|sur)| d(?:e |['’])(?-i:\p{Lu})|$)"
    ),
    quantities="quantité qté stock nombre pièces unités",
    stock_words="stock réserve",
    store_words="stock entrepôt dépôt inventaire rayon réserve",
    generic_words="numéro adresse valeur nom code horaire service poste",
    ordinals=MappingProxyType(
        {
            2: caseless(r"\b(?:deuxième|seconde?)\b(?=.*\b(?:plus|moins)\b)"),
            3: caseless(r"\btroisième\b(?=.*\b(?:plus|moins)\b)"),
            4: caseless(r"\bquatrième\b(?=.*\b(?:plus|moins)\b)"),
        }
    ),
    sum_of="Total",
    mean_of="Moyenne",
    and_more="et {} autres",
    for_whom=caseless(
        r"\bpour (?:une? |les? |la |l['’]|nos )?(?P<group>[\p{L}-]+(?: [\p{L}-]+)?)$"
        r"|\bpaie(?:nt)?(?:-t-(?:il|elle)|-t-on)? (?:une? |les? |la |l['’])?(?P<group>\p{Ll}[\p{L}-]*)\b"
    ),
    comparative=caseless(
        rf"\b(?P<less>moins\s+(?!de\b)\p{{L}}+|plus\s+(?:{_SMALL}))|\bplus\s+(?!de\b|tard\b|que\b)\p{{L}}+"
    ),
    opposites=((caseless(r"\bderni(?:er|[èe]re)?s?\b"), caseless(r"\bprochaine?s?\b")),),
)
